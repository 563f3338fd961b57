import type { FinishReason } from '../../core/event.ts';

/**
 * Endings as engines name them, in lower case. One that is not here is a failed attempt: an answer must end in a way we
 * know. Known not to be endings: SGLang's and vLLM's `abort`, vLLM's and Mistral's `error`, Z.ai's `network_error`,
 * DeepSeek's `insufficient_system_resource`, Ollama's `load` and `unload`.
 */
const endings: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['eos', 'stop'], // Together
  ['eos_token', 'stop'], // TGI
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'], // TGI
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['max_length', 'length'],
  ['model_length', 'length'], // Mistral
  ['model_context_window_exceeded', 'length'], // Z.ai
  ['tool_calls', 'tool_calls'],
  ['tool_call', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['safety', 'content_filter'], // Gemini
  ['sensitive', 'content_filter'], // Z.ai
  ['refusal', 'content_filter'],
]);

/** What a choice held when it ended. */
export interface ChoiceContent {
  readonly calledTools: boolean;
  readonly refused: boolean;
}

/** The chat format's word for how a choice ended; undefined when the engine's word is not one for an ending. */
export function readFinishReason(raw: string, content: ChoiceContent): FinishReason | undefined {
  const reason = endings.get(raw.toLowerCase());
  if (reason === undefined) return undefined;
  // docs/reference/api.md §7.4: a refusal is an ordinary answer that ends in content_filter.
  if (content.refused && reason !== 'length') return 'content_filter';
  if (reason === 'stop' && content.calledTools) return 'tool_calls';
  if (reason === 'tool_calls' && !content.calledTools) return 'stop';
  return reason;
}
