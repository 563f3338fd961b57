import type { Usage } from '../../core/money.ts';
import { countOf, isObject, type JsonObject } from '../json.ts';

/**
 * What an engine has said of its token counts so far; what it has not said is undefined. What it says of the prompt and the
 * completion may be any number: whether it can be true is judged where the request is known (`checkUsage`).
 */
export interface UsageReport {
  readonly promptTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
  readonly cachedTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
}

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

const detailsOf = (usage: JsonObject, name: string): JsonObject => {
  const details = usage[name];
  return isObject(details) ? details : {};
};

/**
 * Reads an engine's usage block, in any provider's shape (docs/reference/engines.md §4), into one. Undefined when it holds no token
 * counts. Reasoning is folded in where an engine leaves it out of its completion.
 */
export function readUsage(value: unknown): UsageReport | undefined {
  if (!isObject(value)) return undefined;
  const total = countOf(value['total_tokens']);
  const given = { prompt: numberOf(value['prompt_tokens']), completion: numberOf(value['completion_tokens']) };
  if (given.prompt === undefined && given.completion === undefined) return undefined;
  const rest = (known: number | undefined): number | undefined => {
    const count = countOf(known);
    return total === undefined || count === undefined ? undefined : Math.max(0, total - count);
  };
  const promptTokens = given.prompt ?? rest(given.completion);
  const plain = given.completion ?? rest(given.prompt);
  const reasoning =
    countOf(detailsOf(value, 'completion_tokens_details')['reasoning_tokens']) ?? countOf(value['reasoning_tokens']);
  // xAI counts reasoning beside the completion: then only the sum of all three is the total.
  const beside = reasoning !== undefined && reasoning > 0 && total === (promptTokens ?? 0) + (plain ?? 0) + reasoning;
  return {
    promptTokens,
    completionTokens: beside ? (plain ?? 0) + reasoning : plain,
    reasoningTokens: reasoning,
    // OpenAI, vLLM and most; DeepSeek; Moonshot.
    cachedTokens:
      countOf(detailsOf(value, 'prompt_tokens_details')['cached_tokens']) ??
      countOf(value['prompt_cache_hit_tokens']) ??
      countOf(value['cached_tokens']),
  };
}

/** llama.cpp counts in its `timings` whether usage was asked for or not; what its cache held is not in `prompt_n`. */
function readTimings(value: unknown): UsageReport | undefined {
  if (!isObject(value)) return undefined;
  const processed = numberOf(value['prompt_n']);
  const cachedTokens = countOf(value['cache_n']);
  const completionTokens = numberOf(value['predicted_n']);
  if (processed === undefined || completionTokens === undefined) return undefined;
  return { promptTokens: processed + (cachedTokens ?? 0), completionTokens, cachedTokens };
}

/** Finds the usage of a chunk or a whole answer: at the top, inside a choice, or under a provider's name. */
export function usageOf(answer: JsonObject): UsageReport | undefined {
  const top = readUsage(answer['usage']);
  if (top !== undefined) return top;
  const { choices } = answer;
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const inChoice = isObject(first) ? readUsage(first['usage']) : undefined;
  return inChoice ?? readUsage(detailsOf(answer, 'x_groq')['usage']) ?? readTimings(answer['timings']);
}

/** Puts a newer report over an older one: totals are never summed, and what the newer one leaves out stays known. */
export function mergeUsage(older: UsageReport | undefined, newer: UsageReport): UsageReport {
  return {
    promptTokens: newer.promptTokens ?? older?.promptTokens,
    completionTokens: newer.completionTokens ?? older?.completionTokens,
    cachedTokens: newer.cachedTokens ?? older?.cachedTokens,
    reasoningTokens: newer.reasoningTokens ?? older?.reasoningTokens,
  };
}

/**
 * The usage that a report amounts to; undefined while it leaves out the prompt or the completion. Cached tokens never
 * exceed the prompt.
 */
export function usageFrom(report: UsageReport): Usage | undefined {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = report;
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  return {
    promptTokens,
    completionTokens,
    ...(cachedTokens === undefined ? {} : { cachedTokens: Math.min(cachedTokens, promptTokens) }),
    // A split that is larger than the whole is no split.
    ...(reasoningTokens === undefined || reasoningTokens > completionTokens ? {} : { reasoningTokens }),
  };
}
