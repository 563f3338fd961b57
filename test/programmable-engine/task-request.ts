import type { ChatMessage } from './chat-message.ts';
import type { Making } from './chat-endpoint.ts';
import { takeDirectives } from './directive-text.ts';
import { RequestRefusal } from './request-refusal.ts';
import { countTokens } from './tokens.ts';

/** Texts of an embeddings or rerank request as messages. The directives of all of them hold for the request. */
export function textsAsMessages(texts: readonly string[]): readonly ChatMessage[] {
  const read = texts.map(takeDirectives);
  const asked = read.reduce((all, one) => ({ ...all, ...one.asked }), {});
  const marks = { prefix: false, partial: false };
  return read.map(({ text }, at) => ({
    ...{ role: 'user', text, images: 0, reasoning: '', calls: '', marks },
    asked: at === read.length - 1 && Object.keys(asked).length > 0 ? asked : undefined,
  }));
}

/** Refuses more inputs than the engine takes, as TEI does or as an engine that fails. */
export function checkInputs(inputs: number, { behaviour }: Making, openAiForm: boolean): void {
  const { maxInputs, tooManyInputs } = behaviour;
  if (maxInputs === undefined || inputs <= maxInputs) return;
  if (tooManyInputs === '500') throw new RequestRefusal('batch failed', { status: 500, type: 'InternalServerError' });
  const status = Number(tooManyInputs ?? 413);
  const message = `batch size ${inputs} > maximum allowed batch size ${maxInputs}`;
  const body = openAiForm
    ? { message, code: status, type: 'Validation' }
    : { error: message, error_type: 'Validation' };
  throw new RequestRefusal(message, { status, type: 'Validation', body });
}

/** Refuses a text beyond the physical batch or the context, and returns its number of tokens. */
export function countedInput(text: string, making: Making): number {
  return checkedTokens(countTokens(text), making);
}

/** As `countedInput`, of a text that came as tokens. */
export function checkedTokens(tokens: number, { behaviour, contextLength }: Making): number {
  const { maxInputTokens = Infinity } = behaviour;
  if (tokens > maxInputTokens) {
    const message = `input (${tokens} tokens) is too large to process. increase the physical batch size (current batch size: ${maxInputTokens})`;
    throw new RequestRefusal(message, {
      status: 500,
      type: 'server_error',
      body: { error: { code: 500, message, type: 'server_error' } },
    });
  }
  if (tokens > contextLength) {
    throw new RequestRefusal(
      `This model's maximum context length is ${contextLength} tokens. However, your prompt contains at least ${contextLength + 1} input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=${contextLength + 1})`,
    );
  }
  return tokens;
}
