import type { Usage } from '../../core/usage.ts';
import { countOf, isObject, type JsonObject } from '../json.ts';

/** The places where providers put the cached part of the prompt, best first. */
function cachedOf(usage: JsonObject): number | undefined {
  const details = isObject(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
  return (
    countOf(details['cached_tokens']) ?? countOf(usage['prompt_cache_hit_tokens']) ?? countOf(usage['cached_tokens'])
  );
}

function reasoningOf(usage: JsonObject): number | undefined {
  const details = isObject(usage['completion_tokens_details']) ? usage['completion_tokens_details'] : {};
  return countOf(details['reasoning_tokens']) ?? countOf(usage['reasoning_tokens']);
}

/**
 * Reads an engine's usage block, in any provider's shape, into one. Undefined when it holds no token counts.
 * Cached tokens never exceed the prompt, and reasoning is folded in where an engine leaves it out of its completion.
 */
export function readUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const prompt = countOf(value['prompt_tokens']);
  const reported = countOf(value['completion_tokens']);
  const total = countOf(value['total_tokens']);
  const reasoning = reasoningOf(value);
  if (prompt === undefined && reported === undefined) return undefined;
  const promptTokens = prompt ?? Math.max(0, (total ?? 0) - (reported ?? 0));
  const plain = reported ?? Math.max(0, (total ?? 0) - promptTokens);
  // Some providers count reasoning beside the completion: then only the sum of all three is the total.
  const beside = reasoning !== undefined && reasoning > 0 && total === promptTokens + plain + reasoning;
  const completionTokens = beside ? plain + reasoning : plain;
  const cached = cachedOf(value);
  return {
    promptTokens,
    completionTokens,
    ...(cached === undefined ? {} : { cachedTokens: Math.min(cached, promptTokens) }),
    // A split that is larger than the whole is no split.
    ...(reasoning === undefined || reasoning > completionTokens ? {} : { reasoningTokens: reasoning }),
  };
}

/** Finds the usage of a chunk or a whole answer: at the top, inside the first choice, or under a provider's name. */
export function usageOf(answer: JsonObject): Usage | undefined {
  const top = readUsage(answer['usage']);
  if (top !== undefined) return top;
  const { choices } = answer;
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const inChoice = isObject(first) ? readUsage(first['usage']) : undefined;
  if (inChoice !== undefined) return inChoice;
  const groq = answer['x_groq'];
  return isObject(groq) ? readUsage(groq['usage']) : undefined;
}
