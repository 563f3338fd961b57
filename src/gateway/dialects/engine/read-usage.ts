import type { Usage } from '../../../core/money.ts';
import { isObject, type JsonObject } from '../../../core/json.ts';
import { countOf, numberOf, objectOf } from './read-field.ts';

/**
 * The token counts that an engine has reported so far. A count that it has not reported is undefined. Prompt and completion may be
 * any number: `checkUsage` validates them against the request.
 */
export interface UsageReport {
  readonly promptTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
  readonly cachedTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
}

const detailsOf = (usage: JsonObject, name: string): JsonObject => objectOf(usage[name]) ?? {};

/**
 * Reads a usage block in any provider's shape (docs/reference/engines.md §4). Returns undefined when it holds no token counts. Reasoning
 * is added to the completion of an engine that counts it apart.
 */
export function readUsage(block: unknown): UsageReport | undefined {
  const value = objectOf(block);
  if (value === undefined) return undefined;
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
  // xAI counts reasoning apart from the completion: the total is then the sum of all three.
  const isApart = reasoning !== undefined && reasoning > 0 && total === (promptTokens ?? 0) + (plain ?? 0) + reasoning;
  return {
    promptTokens,
    completionTokens: isApart ? (plain ?? 0) + reasoning : plain,
    reasoningTokens: reasoning,
    // In this order: the field of OpenAI, vLLM and most others, the field of DeepSeek, the field of Moonshot.
    cachedTokens:
      countOf(detailsOf(value, 'prompt_tokens_details')['cached_tokens']) ??
      countOf(value['prompt_cache_hit_tokens']) ??
      countOf(value['cached_tokens']),
  };
}

/**
 * Reads llama.cpp's `timings`, which come whether usage was asked for or not. `prompt_n` leaves out the tokens that were in its
 * cache.
 */
function readTimings(value: unknown): UsageReport | undefined {
  if (!isObject(value)) return undefined;
  const processed = numberOf(value['prompt_n']);
  const cachedTokens = countOf(value['cache_n']);
  const completionTokens = numberOf(value['predicted_n']);
  if (processed === undefined || completionTokens === undefined) return undefined;
  return { promptTokens: processed + (cachedTokens ?? 0), completionTokens, cachedTokens };
}

/** Reads the usage of a chunk or a whole answer: at the top, inside a choice, or under a provider's name. */
export function usageOf(answer: JsonObject): UsageReport | undefined {
  const top = readUsage(answer['usage']);
  if (top !== undefined) return top;
  const first = objectOf(answer['choices']);
  const inChoice = first && readUsage(first['usage']);
  return inChoice ?? readUsage(detailsOf(answer, 'x_groq')['usage']) ?? readTimings(answer['timings']);
}

/** Merges two reports. The newer totals replace the older ones. An older total stays if the newer report lacks it. */
export function mergeUsage(older: UsageReport | undefined, newer: UsageReport): UsageReport {
  return {
    promptTokens: newer.promptTokens ?? older?.promptTokens,
    completionTokens: newer.completionTokens ?? older?.completionTokens,
    cachedTokens: newer.cachedTokens ?? older?.cachedTokens,
    reasoningTokens: newer.reasoningTokens ?? older?.reasoningTokens,
  };
}

/** The usage of a report. Undefined while the prompt or the completion is missing. Cached tokens never exceed the prompt. */
export function usageFrom(report: UsageReport): Usage | undefined {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = report;
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  return {
    promptTokens,
    completionTokens,
    cachedTokens: cachedTokens === undefined ? undefined : Math.min(cachedTokens, promptTokens),
    // More reasoning than completion cannot be true.
    reasoningTokens: (reasoningTokens ?? 0) > completionTokens ? undefined : reasoningTokens,
  };
}
