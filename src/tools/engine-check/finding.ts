import type { StructuredFormat, ToolChoiceForm } from '../../core/capability.ts';
import type { ParameterName } from '../../core/parameters.ts';
import type { ReasoningEffort } from '../../core/request.ts';
import type { ProbeAnswer } from './ask-engine.ts';

/** `unclear`: the engine accepted the request, and the answer does not prove that the engine honoured it. */
export type Verdict = 'yes' | 'no' | 'unclear';

/** The result of a probe: whether an engine can do one thing. */
export interface ProbeFinding {
  readonly subject: Subject;
  readonly verdict: Verdict;
  readonly note: string;
}

export type Transport = 'json' | 'stream';
export const transports: readonly Transport[] = ['json', 'stream'];

/** The subject of a probe. A subject that is no field of `capabilities` is a requirement, or something whose lack costs money. */
export type Subject =
  | { readonly kind: 'answer'; readonly transport: Transport }
  | { readonly kind: 'usage'; readonly of: 'answer' | 'running' | 'cached' }
  | { readonly kind: 'parameter'; readonly name: ParameterName }
  | { readonly kind: 'tool_choice'; readonly form: Exclude<ToolChoiceForm, 'none'>; readonly transport: Transport }
  | { readonly kind: 'response_format'; readonly format: StructuredFormat; readonly transport: Transport }
  | { readonly kind: 'reasoning'; readonly of: 'field' | 'off' | 'budget' }
  | { readonly kind: 'effort'; readonly effort: ReasoningEffort }
  | { readonly kind: 'continuation' }
  | { readonly kind: 'context refusal' };

/** The name of the subject in the table and in the JSON. */
export function nameOf(subject: Subject): string {
  const on = (transport: Transport): string => (transport === 'stream' ? ', streamed' : '');
  switch (subject.kind) {
    case 'answer':
      return subject.transport === 'stream' ? 'streamed answer' : 'whole answer';
    case 'usage':
      return { answer: 'usage', running: 'running usage', cached: 'cached tokens' }[subject.of];
    case 'parameter':
      return subject.name;
    case 'tool_choice':
      return `tool_choice ${subject.form}${on(subject.transport)}`;
    case 'response_format':
      return `response_format ${subject.format}${on(subject.transport)}`;
    case 'reasoning':
      return { field: 'reasoning in a field', off: 'reasoning off', budget: 'reasoning budget' }[subject.of];
    case 'effort':
      return `reasoning_effort ${subject.effort}`;
    case 'continuation':
      return 'continuation';
    case 'context refusal':
      return 'context refusal';
  }
}

/** The finding of a probe that got no answer. */
export function withoutAnswer(
  outcome: Exclude<ProbeAnswer, { readonly kind: 'answer' }>,
): Omit<ProbeFinding, 'subject'> {
  if (outcome.kind === 'broken') return { verdict: 'no', note: outcome.why };
  const { status, reading } = outcome;
  const about = reading.about === undefined ? '' : `, about ${reading.about}`;
  return { verdict: 'no', note: `refused with status ${status} (${reading.engineError}${about})` };
}
