import type { FinishReason } from '../../../core/event.ts';

/**
 * What the words mean by which engines end a choice, in lower case, with `_` between words; the first match counts. A word that
 * matches nothing means that the model has stopped: an answer with a text and an unknown end is an answer. `fault`: the engine
 * broke the answer off.
 */
const meanings: readonly (readonly [pattern: RegExp, meaning: FinishReason | 'fault'])[] = [
  // Gemini, Vertex: SAFETY, RECITATION, PROHIBITED_CONTENT, BLOCKLIST, SPII, IMAGE_SAFETY, LANGUAGE · Z.ai: sensitive ·
  // Bedrock: guardrail_intervened, content_filtered · Cohere: ERROR_TOXIC · Anthropic: refusal · DashScope: data_inspection_failed
  [
    /filter|safety|unsafe|sensitiv|refus|prohibit|recitation|block|spii|guardrail|moderat|toxic|polic/,
    'content_filter',
  ],
  [/copyright|inspection|censor|^language$|^content_risk/, 'content_filter'],
  // Cohere: ERROR_LIMIT · Anthropic, Z.ai: model_context_window_exceeded
  [/^error_limit$|context_(?:window|length|size|limit)/, 'length'],
  // vLLM, Mistral: error · SGLang, vLLM: abort · Ollama: load, unload · Z.ai: network_error · Cohere: USER_CANCEL ·
  // DeepSeek: insufficient_system_resource · Gemini: MALFORMED_FUNCTION_CALL, UNEXPECTED_TOOL_CALL · Bedrock: malformed_model_output
  [/error|abort|cancel|fail|fault|exception|crash|interrupt|disconnect|preempt|evict|shutdown/, 'fault'],
  [/time_?d?_?out|unavailable|overload|rate_limit|throttl|quota|malformed|unexpected|invalid|corrupt/, 'fault'],
  [/^(?:un)?load(?:ed|ing)?$|^insufficient_system_resource/, 'fault'],
  // max_tokens, max_length, max_output_tokens, model_length, length, MAX_TOKENS, token_limit, incomplete
  [/length|^max|_max_|limit|budget|truncat|incomplete|exhaust/, 'length'],
  [/tool|function/, 'tool_calls'],
];

/** The content of a choice when it ended. */
interface ChoiceContent {
  readonly calledTools: boolean;
  readonly refused: boolean;
}

/** Writes a word in the form of the table: `FINISH_REASON_MAX_TOKENS`, `MaxTokens` and `max-tokens` are `max_tokens`. */
const plainWord = (raw: string): string =>
  raw
    .trim()
    .slice(0, 128)
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, '_')
    .toLowerCase()
    .replaceAll(/[\s.-]+/g, '_')
    .replace(/^finish_?reason_/, '');

const meaningOf = (word: string): FinishReason | 'fault' =>
  meanings.find(([pattern]) => pattern.test(word))?.[1] ?? 'stop';

/** The words of the chat format, which nearly all answers end with. */
const usual: ReadonlyMap<string, FinishReason | 'fault'> = new Map(
  ['stop', 'length', 'tool_calls', 'content_filter'].map((word) => [word, meaningOf(word)]),
);

/** Maps an engine's finish reason to the chat format's. `fault`: the engine says that the answer is not complete. */
export function readFinishReason(raw: string, content: ChoiceContent): FinishReason | 'fault' {
  const reason = usual.get(raw) ?? meaningOf(plainWord(raw));
  if (reason === 'fault') return reason;
  // A refusal is an ordinary answer that ends in content_filter: docs/reference/api.md §7.4.
  if (content.refused && reason !== 'length') return 'content_filter';
  if (reason === 'stop' && content.calledTools) return 'tool_calls';
  if (reason === 'tool_calls' && !content.calledTools) return 'stop';
  return reason;
}

/** Whether a word for the state of an answer means that it failed. */
export const meansFault = (raw: string): boolean =>
  readFinishReason(raw, { calledTools: false, refused: false }) === 'fault';
