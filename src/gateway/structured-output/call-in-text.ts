/**
 * The marks with which models begin a call: Hermes and Qwen, Qwen3-Coder, Mistral, Llama, DeepSeek, Kimi. An engine without the right
 * parser leaves the call in the text, and so does vLLM where the call is malformed (docs/reference/engines.md §6).
 */
export const callMarks = [
  ...['<tool_call>', '<function=', '[TOOL_CALLS]', '<|python_tag|>'],
  ...['<｜tool▁calls▁begin｜>', '<|tool_calls_section_begin|>'],
] as const;

/** Characters of a text that decide whether it begins as a call: white space, and the longest mark. */
export const callMarkCharacters = 64;

/** Whether a text begins as a call does. A mark further on is a part of a normal answer, about calls for example. */
export function beginsAsCall(text: string): boolean {
  const beginning = text.trimStart();
  return callMarks.some((mark) => beginning.startsWith(mark));
}
