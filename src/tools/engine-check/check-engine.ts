import type { Capabilities, StructuredFormat, ToolChoiceForm } from '../../core/capability.ts';
import type { CapabilityOverrides } from '../../core/catalog.ts';
import { type AskEngine, connectEngine, type EngineAddress } from './ask-engine.ts';
import { probeAnswers, probeCache, probeContext, probeContinuation, probeReasoning } from './conversation-probes.ts';
import { type ProbeFinding, nameOf, type Subject, type Transport, type Verdict } from './finding.ts';
import { probeParameters } from './parameter-probes.ts';
import { probeStructure } from './structure-probes.ts';

/** The findings about an engine, compared with the capabilities that are declared for its route. */
export type EngineReport = Awaited<ReturnType<typeof checkEngine>>;

export interface ReportLine extends ProbeFinding {
  readonly name: string;
  /** Whether the route declares the capability. Undefined: a route cannot declare it. */
  readonly declared: boolean | undefined;
}

export interface CheckOptions {
  /** The capabilities of the route, by the engine's table and the operator. */
  readonly declared: Capabilities;
  readonly contextLength: number | undefined;
  /** Called with the name of each group of probes before it runs. */
  readonly progress: (what: string) => void;
}

/** Runs all probes, one after the other. Never rejects: an engine that fails is a finding. */
export async function checkEngine(address: EngineAddress, options: CheckOptions) {
  const { declared, contextLength, progress } = options;
  const ask: AskEngine = connectEngine(address);
  progress('answers');
  const { plain, findings: answers } = await probeAnswers(ask);
  const findings: ProbeFinding[] = [...answers];
  let observed: Observed = { inline: undefined, mark: undefined };
  if (plain !== undefined) {
    progress('parameters');
    findings.push(...(await probeParameters(ask, declared, plain)));
    progress('tools and structured output');
    findings.push(...(await probeStructure(ask)));
    progress('reasoning');
    const reasoning = await probeReasoning(ask, declared);
    findings.push(...reasoning.findings);
    progress('cache, context and continuation');
    findings.push(await probeCache(ask));
    if (contextLength !== undefined) findings.push(await probeContext(ask, contextLength));
    const mark = declared.continuation;
    const continuation = mark === 'none' ? undefined : await probeContinuation(ask, mark, plain);
    if (continuation !== undefined) findings.push(continuation.finding);
    observed = { inline: reasoning.inline, mark: continuation?.mark };
  }
  const capabilities = capabilitiesFrom(findings, declared, observed);
  const isUsable = findings.every(({ subject, verdict }) => subject.kind !== 'answer' || verdict === 'yes');
  return {
    lines: findings.map((finding) => ({
      ...finding,
      name: nameOf(finding.subject),
      declared: isDeclared(finding.subject, declared),
    })),
    /** The capabilities that a Model must declare for the route, so that Weir uses exactly what works. Empty: the declared ones are true. */
    capabilities,
    /** Whether Weir can use the engine, and all declared capabilities are true. */
    isGood: isUsable && Object.keys(capabilities).length === 0,
  };
}

interface Observed {
  readonly inline: 'think' | 'think-implicit' | undefined;
  readonly mark: Capabilities['continuation'] | undefined;
}

function isDeclared(subject: Subject, declared: Capabilities): boolean | undefined {
  switch (subject.kind) {
    case 'answer':
      return true;
    case 'parameter':
      return declared.parameters.includes(subject.name);
    case 'tool_choice':
      return declared.tools[subject.transport] && declared.toolChoice.includes(subject.form);
    case 'response_format':
      return declared.responseFormats[subject.transport].includes(subject.format);
    case 'reasoning':
      return subject.of === 'field' ? declared.inlineReasoning === undefined : declared.reasoning[subject.of];
    case 'effort':
      return declared.reasoning.efforts.includes(subject.effort);
    case 'continuation':
      return declared.continuation !== 'none';
    case 'usage':
    case 'context refusal':
      return undefined;
  }
}

/** The fields of `capabilities` in which the findings differ from the declared capabilities. An unclear finding changes nothing. */
function capabilitiesFrom(
  findings: readonly ProbeFinding[],
  declared: Capabilities,
  { inline, mark }: Observed,
): CapabilityOverrides {
  const fails = (subject: Subject): boolean => verdictOf(findings, subject) === 'no';
  const parameters = declared.parameters.filter((name) => !fails({ kind: 'parameter', name }));

  const forms = ['auto', 'required', 'named'] as const;
  const failsForm = (form: ToolChoiceForm, transport: Transport): boolean =>
    form !== 'none' && fails({ kind: 'tool_choice', form, transport });
  const failsAll = (transport: Transport): boolean => forms.every((form) => failsForm(form, transport));
  const tools = declared.tools.json && !failsAll('json');
  const streamedTools = declared.tools.stream && !failsAll('stream');
  const toolChoice = declared.toolChoice.filter(
    (form) => !failsForm(form, 'json') && !(streamedTools && failsForm(form, 'stream')),
  );

  const formats = (transport: Transport): readonly StructuredFormat[] =>
    declared.responseFormats[transport].filter((format) => !fails({ kind: 'response_format', format, transport }));
  const [whole, streamed] = [formats('json'), formats('stream')];

  const { reasoning } = declared;
  const off = reasoning.off && !fails({ kind: 'reasoning', of: 'off' });
  const efforts = reasoning.efforts.filter((effort) => !fails({ kind: 'effort', effort }));
  const budget = reasoning.budget && !fails({ kind: 'reasoning', of: 'budget' });
  const changedReasoning = {
    ...(off === reasoning.off ? {} : { off }),
    ...(efforts.length === reasoning.efforts.length ? {} : { efforts }),
    ...(budget === reasoning.budget ? {} : { budget }),
  };

  return {
    ...(tools === declared.tools.json ? {} : { tools }),
    ...(streamedTools === declared.tools.stream || !tools ? {} : { streamedTools }),
    ...(toolChoice.length === declared.toolChoice.length || !tools ? {} : { toolChoice }),
    ...(whole.length === declared.responseFormats.json.length ? {} : { responseFormats: whole }),
    ...(streamed.length === declared.responseFormats.stream.length ? {} : { streamedResponseFormats: streamed }),
    ...(parameters.length === declared.parameters.length ? {} : { parameters }),
    ...(Object.keys(changedReasoning).length === 0 ? {} : { reasoning: changedReasoning }),
    ...(inline === undefined || declared.inlineReasoning !== undefined
      ? {}
      : { inlineReasoning: { tags: ['think'] as const, implicitOpen: inline === 'think-implicit' } }),
    ...continuationFrom(mark, declared.continuation),
  };
}

function continuationFrom(
  mark: Capabilities['continuation'] | undefined,
  declared: Capabilities['continuation'],
): Pick<CapabilityOverrides, 'continuation' | 'continuationMark'> {
  if (mark === undefined || mark === declared) return {};
  return mark === 'none' ? { continuation: false } : { continuationMark: mark };
}

function verdictOf(findings: readonly ProbeFinding[], subject: Subject): Verdict | undefined {
  const name = nameOf(subject);
  return findings.find((finding) => nameOf(finding.subject) === name)?.verdict;
}
