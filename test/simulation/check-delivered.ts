import { countTokens } from '../programmable-engine/tokens.ts';
import type { RequestEvent } from './events.ts';
import { readAnswer } from './received-answer.ts';

/**
 * The output tokens of what a service has written of a stream, by the engines' tokenizer. Undefined: it is not known, the answer is
 * whole, is a call, or is not written as the model said it.
 */
export function writtenTokens(event: RequestEvent, written: string | undefined): number | undefined {
  if (written === undefined || !event.stream || event.search !== undefined || event.ask === 'tools') return undefined;
  let tokens = 0;
  for (const { text, reasoning } of readAnswer(event, written, false).choices.values())
    tokens += countTokens(text) + countTokens(reasoning);
  return tokens;
}
