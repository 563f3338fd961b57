import type { FinishReason } from '../../core/event.ts';

/** Endings as engines name them. One that is not here is a failed attempt: an answer must end in a way we know. */
const endings: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['eos', 'stop'],
  ['eos_token', 'stop'],
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['max_length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['sensitive', 'content_filter'],
  ['refusal', 'content_filter'],
]);

/** What a choice held when it ended. */
export interface ChoiceContent {
  readonly calledTools: boolean;
  readonly refused: boolean;
}

/** The chat format's word for how a choice ended; undefined when the engine's word is not one for an ending. */
export function readFinishReason(raw: string, content: ChoiceContent): FinishReason | undefined {
  const reason = endings.get(raw);
  if (reason === undefined) return undefined;
  // Service specification §7.4: a refusal is an ordinary answer that ends in content_filter.
  if (content.refused && reason !== 'length') return 'content_filter';
  if (reason === 'stop' && content.calledTools) return 'tool_calls';
  if (reason === 'tool_calls' && !content.calledTools) return 'stop';
  return reason;
}
