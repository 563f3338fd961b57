import type { TextEvent } from '../../core/event.ts';
import { isObject, type JsonObject, textOf } from '../json.ts';

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

const saysNothing = (value: unknown): boolean => !isObject(value) && !(Array.isArray(value) && value.length > 0);

/**
 * The one piece of text a chunk brings, as the engine sent it, when the chunk says nothing else but perhaps its running
 * usage. Undefined for every other chunk.
 */
export function soleText(chunk: JsonObject): TextEvent | undefined {
  const { choices } = chunk;
  if (!isAbsent(chunk['error']) || chunk['object'] === 'error') return undefined;
  if (!isAbsent(chunk['timings']) || !isAbsent(chunk['x_groq'])) return undefined;
  const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
  if (!isObject(choice) || !isObject(choice['delta']) || !Number.isInteger(choice['index'])) return undefined;
  if (textOf(choice['finish_reason']) !== undefined || !isAbsent(choice['logprobs']) || !isAbsent(choice['usage'])) {
    return undefined;
  }
  const { delta } = choice;
  if (textOf(delta['refusal']) !== undefined || !saysNothing(delta['tool_calls'])) return undefined;
  if (isObject(delta['function_call'])) return undefined;
  const text = textOf(delta['content']);
  const reasoning = textOf(delta['reasoning_content']) ?? textOf(delta['reasoning']);
  const sole = text === undefined ? reasoning : reasoning === undefined ? text : undefined;
  if (sole === undefined) return undefined;
  const type = text === undefined ? 'reasoning-delta' : 'text-delta';
  return { type, choice: Number(choice['index']), text: sole, deltas: 1 };
}
