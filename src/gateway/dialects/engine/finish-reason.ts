import type { FinishReason } from '../../../core/event.ts';

/**
 * Finish reasons as engines name them, in lower case. An unknown reason fails the attempt, because an answer must end in a known
 * way. Left out on purpose, because the answer is not complete: `abort` of SGLang and vLLM, `error` of vLLM and Mistral,
 * `network_error` of Z.ai, `insufficient_system_resource` of DeepSeek, `load` and `unload` of Ollama.
 */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
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

/** The content of a choice when it ended. */
interface ChoiceContent {
  readonly calledTools: boolean;
  readonly refused: boolean;
}

/** Maps an engine's finish reason to the chat format's. Returns undefined for an unknown one. */
export function readFinishReason(raw: string, content: ChoiceContent): FinishReason | undefined {
  const reason = finishReasons.get(raw.toLowerCase());
  if (reason === undefined) return undefined;
  // A refusal is an ordinary answer that ends in content_filter: docs/reference/api.md §7.4.
  if (content.refused && reason !== 'length') return 'content_filter';
  if (reason === 'stop' && content.calledTools) return 'tool_calls';
  if (reason === 'tool_calls' && !content.calledTools) return 'stop';
  return reason;
}
