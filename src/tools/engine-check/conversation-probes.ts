import type { Capabilities, ContinuationMark } from '../../core/capability.ts';
import type { AskEngine, ChoiceAnswer } from './ask-engine.ts';
import { type ProbeFinding, transports, type Verdict, withoutAnswer } from './finding.ts';

/** A question that makes models reason, and room for it. */
const riddle = {
  messages: [
    { role: 'user', content: 'A bat and a ball cost 1.10 together, the bat 1.00 more than the ball. The ball?' },
  ],
  maxOutputTokens: 192,
} as const;

const smallBudget = 16;
/** Characters of a trace that kept to the small budget, at most. */
const withinBudget = smallBudget * 8;

/** Plain answers and what is reported about them. Undefined for `plain`: the engine does not answer at all. */
export async function probeAnswers(
  ask: AskEngine,
): Promise<{ readonly plain: ChoiceAnswer | undefined; readonly findings: readonly ProbeFinding[] }> {
  const findings: ProbeFinding[] = [];
  let plain: ChoiceAnswer | undefined;
  for (const transport of transports) {
    const outcome = await ask({ stream: transport === 'stream' });
    const subject = { kind: 'answer', transport } as const;
    if (outcome.kind !== 'answer') {
      findings.push({ subject, ...withoutAnswer(outcome) });
      continue;
    }
    const { choices, usage, hasRunningUsage } = outcome;
    findings.push({ subject, verdict: 'yes', note: `ends with ${choices[0]?.finish ?? 'nothing'}` });
    const counted = usage === undefined ? 'no counts' : `${usage.promptTokens} + ${usage.completionTokens} tokens`;
    if (transport === 'json') plain = choices[0];
    else {
      const of = { kind: 'usage' } as const;
      findings.push({ subject: { ...of, of: 'answer' }, verdict: usage === undefined ? 'no' : 'yes', note: counted });
      findings.push({
        subject: { ...of, of: 'running' },
        verdict: hasRunningUsage ? 'yes' : 'no',
        note: hasRunningUsage ? 'counts come with the text' : 'counts come at the end: a cancelled answer is estimated',
      });
    }
  }
  return { plain, findings };
}

/** Sends a long prompt twice: the second time its beginning is cached. */
export async function probeCache(ask: AskEngine): Promise<ProbeFinding> {
  const subject = { kind: 'usage', of: 'cached' } as const;
  const content = 'All rivers run into the sea, yet the sea is not full. '.repeat(16);
  let cached: number | undefined;
  for (let times = 0; times < 2; times += 1) {
    const outcome = await ask({ messages: [{ role: 'user', content }], maxOutputTokens: 4 });
    if (outcome.kind !== 'answer') return { subject, ...withoutAnswer(outcome) };
    cached = outcome.usage?.cachedTokens;
  }
  if (cached === undefined) return { subject, verdict: 'no', note: 'not reported: billed at the full rate' };
  return { subject, verdict: cached > 0 ? 'yes' : 'unclear', note: `${cached} of the prompt` };
}

/** A prompt that fits no window must be refused in a way that Weir understands. */
export async function probeContext(ask: AskEngine, contextLength: number): Promise<ProbeFinding> {
  const subject = { kind: 'context refusal' } as const;
  const outcome = await ask({
    messages: [{ role: 'user', content: 'sea '.repeat(contextLength + 1024) }],
    maxOutputTokens: 4,
  });
  if (outcome.kind === 'answer') return { subject, verdict: 'no', note: 'it answers a prompt beyond its window' };
  if (outcome.kind === 'broken') return { subject, verdict: 'no', note: outcome.why };
  const isUnderstood = outcome.reading.engineError === 'context-length';
  return {
    subject,
    verdict: isUnderstood ? 'yes' : 'no',
    note: `status ${outcome.status}, read as ${outcome.reading.engineError}`,
  };
}

/** Reasoning, and how it is reported. `inline` names the tag that stands in the text, where one does. */
export async function probeReasoning(
  ask: AskEngine,
  { reasoning }: Pick<Capabilities, 'reasoning'>,
): Promise<{ readonly findings: readonly ProbeFinding[]; readonly inline: 'think' | 'think-implicit' | undefined }> {
  const findings: ProbeFinding[] = [];
  const on = await ask({ ...riddle, reasoningSetting: { enabled: true } });
  if (on.kind !== 'answer') {
    findings.push({ subject: { kind: 'reasoning', of: 'field' }, ...withoutAnswer(on) });
    return { findings, inline: undefined };
  }
  const trace = on.choices[0]?.reasoning ?? '';
  const text = on.choices[0]?.text ?? '';
  const inline = text.trimStart().startsWith('<think>')
    ? 'think'
    : text.includes('</think>')
      ? 'think-implicit'
      : undefined;
  findings.push({
    subject: { kind: 'reasoning', of: 'field' },
    verdict: inline !== undefined ? 'no' : trace === '' ? 'unclear' : 'yes',
    note:
      inline !== undefined
        ? 'the text contains it, between tags: the server has no parser for it'
        : trace === ''
          ? 'the model did not reason'
          : `${trace.length} characters`,
  });
  const isReasoning = trace !== '' || inline !== undefined;

  if (reasoning.off) {
    const off = await ask({ ...riddle, reasoningSetting: { enabled: false } });
    const subject = { kind: 'reasoning', of: 'off' } as const;
    if (off.kind !== 'answer') findings.push({ subject, ...withoutAnswer(off) });
    else {
      const [choice] = off.choices;
      const still = (choice?.reasoning.trim() ?? '') !== '' || /<\/?think>/.test(choice?.text ?? '');
      findings.push({
        subject,
        verdict: still ? 'no' : isReasoning ? 'yes' : 'unclear',
        note: still ? 'accepted, but the model reasons all the same' : isReasoning ? 'it answers at once' : 'accepted',
      });
    }
  }
  for (const effort of reasoning.efforts) {
    const outcome = await ask({ ...riddle, maxOutputTokens: 8, reasoningSetting: { enabled: true, effort } });
    const subject = { kind: 'effort', effort } as const;
    findings.push(
      outcome.kind === 'answer'
        ? { subject, verdict: 'unclear', note: 'accepted' }
        : { subject, ...withoutAnswer(outcome) },
    );
  }
  if (reasoning.budget) findings.push(await probeBudget(ask, trace));
  return { findings, inline };
}

async function probeBudget(ask: AskEngine, unbounded: string): Promise<ProbeFinding> {
  const subject = { kind: 'reasoning', of: 'budget' } as const;
  const outcome = await ask({ ...riddle, reasoningSetting: { enabled: true, budgetTokens: smallBudget } });
  if (outcome.kind !== 'answer') return { subject, ...withoutAnswer(outcome) };
  const trace = outcome.choices[0]?.reasoning ?? '';
  if (unbounded.length <= withinBudget) return { subject, verdict: 'unclear', note: 'accepted; the trace is short' };
  return trace.length <= withinBudget
    ? { subject, verdict: 'yes', note: `${trace.length} characters instead of ${unbounded.length}` }
    : { subject, verdict: 'no', note: `accepted, but the trace has ${trace.length} characters` };
}

/** Characters in which a continuation must agree with the unbroken answer. */
const minAgreement = 8;

/** Where the answer is broken off, as shares of it: a tie between two words may mislead at one place. */
const places: readonly number[] = [0.5, 0.3, 0.7];

interface Continued {
  readonly finding: ProbeFinding;
  /** How the engine continued. `none`: it did not. Undefined: it cannot be said. */
  readonly mark: ContinuationMark | undefined;
}

/** Has the engine continue the beginning of its own answer. */
export async function probeContinuation(
  ask: AskEngine,
  mark: Exclude<ContinuationMark, 'none'>,
  plain: ChoiceAnswer,
): Promise<Continued> {
  const subject = { kind: 'continuation' } as const;
  const found = (verdict: Verdict, note: string, seen?: ContinuationMark): Continued => ({
    finding: { subject, verdict, note },
    mark: seen,
  });
  // Too short an answer has no beginning to go on from.
  if (plain.text.length < 2 * minAgreement) return found('unclear', 'the model says too little');
  for (const place of places) {
    const partial = plain.text.slice(0, Math.ceil(plain.text.length * place));
    const outcome = await ask({ partial: { mark, text: partial } });
    if (outcome.kind !== 'answer') return { finding: { subject, ...withoutAnswer(outcome) }, mark: 'none' };
    const said = outcome.choices[0]?.text || outcome.choices[0]?.reasoning || '';
    const seen = howContinued(said, partial, plain.text);
    if (seen === undefined) continue;
    if (seen === 'anew') return found('no', 'accepted, but the answer begins anew', 'none');
    if (seen === 'echo') {
      return mark === 'echo'
        ? found('yes', 'it repeats the partial answer and continues', mark)
        : found('no', 'it repeats the partial answer first', 'echo');
    }
    return mark === 'echo'
      ? found('no', 'it continues without repeating the partial answer', 'trailing')
      : found('yes', 'it continues where the answer broke off', mark);
  }
  return found('no', 'accepted, but the output does not continue the partial answer', 'none');
}

function howContinued(said: string, partial: string, whole: string): 'goes-on' | 'echo' | 'anew' | undefined {
  const agree = (one: string, other: string): boolean => {
    const length = Math.min(minAgreement, other.length);
    return one.slice(0, length) === other.slice(0, length);
  };
  if (agree(said, whole.slice(partial.length))) return 'goes-on';
  // With as many tokens as the first answer had, an engine that begins anew ends where that ended.
  if (said.startsWith(partial) && said.length > whole.length) return 'echo';
  return agree(said, whole) ? 'anew' : undefined;
}
