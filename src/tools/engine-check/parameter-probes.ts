import type { Capabilities } from '../../core/capability.ts';
import { type ParameterName, parameters, type Sampling } from '../../core/parameters.ts';
import type { Ask, AskEngine, ChoiceAnswer } from './ask-engine.ts';
import { type ProbeFinding, type Verdict, withoutAnswer } from './finding.ts';

/** The values of the probes. Where possible, the answer shows whether the engine honoured the value. */
const values: Readonly<Required<Sampling>> = {
  temperature: 0.5,
  top_p: 0.9,
  stop: ['weir'],
  seed: 7,
  n: 2,
  logprobs: true,
  top_logprobs: 2,
  logit_bias: { '5': -1 },
  frequency_penalty: 0.5,
  presence_penalty: 0.5,
  parallel_tool_calls: false,
  top_k: 10,
  min_p: 0.05,
  repetition_penalty: 1.1,
  top_a: 0.1,
};

const tool = { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } };

/** Probes each parameter that the route is said to take. `plain` is the answer at temperature 0, without any of them. */
export async function probeParameters(
  ask: AskEngine,
  capabilities: Pick<Capabilities, 'parameters'>,
  plain: ChoiceAnswer,
): Promise<readonly ProbeFinding[]> {
  const findings: ProbeFinding[] = [];
  for (const name of capabilities.parameters) {
    // One after the other: what is probed is the engine, not its capacity.
    findings.push(await probe(ask, name, plain));
  }
  return findings;
}

async function probe(ask: AskEngine, name: ParameterName, plain: ChoiceAnswer): Promise<ProbeFinding> {
  const subject = { kind: 'parameter', name } as const;
  const finding = (verdict: Verdict, note: string): ProbeFinding => ({ subject, verdict, note });
  const sampling: Sampling = {
    // vLLM refuses several answers of which each would be the likeliest.
    temperature: name === 'n' ? 1 : 0,
    [name]: values[name],
    ...(parameters[name].needs === 'logprobs' ? { logprobs: true } : {}),
  };
  const wanted: Ask = { sampling, ...(parameters[name].needs === 'tools' ? { tools: [tool] } : {}) };
  if (name === 'stop') return probeStop(ask, plain);
  if (name === 'seed') return probeSeed(ask);
  const outcome = await ask(wanted);
  if (outcome.kind !== 'answer') return { subject, ...withoutAnswer(outcome) };
  const [choice] = outcome.choices;
  const tokens = choice?.logprobs.length ?? 0;
  if (name === 'n') {
    const ended = outcome.choices.filter(({ finish }) => finish !== undefined).length;
    return finding(ended === values.n ? 'yes' : 'no', `${ended} of ${values.n} answers came`);
  }
  if (name === 'logprobs') return finding(tokens > 0 ? 'yes' : 'no', `${tokens} tokens have probabilities`);
  if (name === 'top_logprobs') {
    const alternatives = choice?.logprobs.map(alternativesOf) ?? [];
    const isHonoured = tokens > 0 && alternatives.every((count) => count === values.top_logprobs);
    return finding(isHonoured ? 'yes' : 'no', `${alternatives[0] ?? 0} alternatives for a token`);
  }
  return finding('unclear', 'accepted');
}

function alternativesOf(token: unknown): number {
  if (typeof token !== 'object' || token === null || !('top_logprobs' in token)) return 0;
  return Array.isArray(token.top_logprobs) ? token.top_logprobs.length : 0;
}

/** Stops the plain answer at a text from its middle, which then must not appear. */
async function probeStop(ask: AskEngine, plain: ChoiceAnswer): Promise<ProbeFinding> {
  const subject = { kind: 'parameter', name: 'stop' } as const;
  const middle = Math.floor(plain.text.length / 2);
  const text = plain.text.slice(middle, middle + 4);
  const stop = text.trim() === '' ? 'weir' : text;
  const outcome = await ask({ sampling: { temperature: 0, stop: [stop] } });
  if (outcome.kind !== 'answer') return { subject, ...withoutAnswer(outcome) };
  if (stop !== text) return { subject, verdict: 'unclear', note: 'accepted' };
  const [choice] = outcome.choices;
  if (choice === undefined || choice.text.includes(stop)) {
    return { subject, verdict: 'no', note: 'it writes the text at which it should stop' };
  }
  const isStopped = choice.finish === 'stop' && plain.text.startsWith(choice.text);
  return { subject, verdict: isStopped ? 'yes' : 'unclear', note: isStopped ? 'it stops there' : 'accepted' };
}

async function probeSeed(ask: AskEngine): Promise<ProbeFinding> {
  const subject = { kind: 'parameter', name: 'seed' } as const;
  const texts: string[] = [];
  for (let times = 0; times < 2; times += 1) {
    const outcome = await ask({ sampling: { temperature: 1, seed: values.seed } });
    if (outcome.kind !== 'answer') return { subject, ...withoutAnswer(outcome) };
    texts.push(outcome.choices[0]?.text ?? '');
  }
  // Engines that batch do not promise the same text.
  if (texts[0] === texts[1]) return { subject, verdict: 'yes', note: 'the same answer twice' };
  return { subject, verdict: 'unclear', note: 'accepted; two answers with one seed differ' };
}
