import { formatUsd } from '../../core/money.ts';
import type { Bill, Usage } from '../../core/usage.ts';

/**
 * Counts as members of a JSON object, without the braces. This format counts what was read from the cache beside the input,
 * not inside of it (docs/reference/engines.md §2), and has cache writes, which nobody here pays for.
 */
export function writeCounts(usage: Usage): string {
  const { promptTokens, completionTokens, cachedTokens = 0, reasoningTokens, webSearches } = usage;
  const split = reasoningTokens === undefined ? '' : `,"output_tokens_details":{"thinking_tokens":${reasoningTokens}}`;
  const searches = webSearches === undefined ? '' : `,"server_tool_use":{"web_search_requests":${webSearches}}`;
  return (
    `"input_tokens":${promptTokens - cachedTokens},"cache_creation_input_tokens":0,` +
    `"cache_read_input_tokens":${cachedTokens},"output_tokens":${completionTokens}${split}${searches}`
  );
}

/** Usage block as JSON text. The cost is written as the exact decimal, which a float could not carry (docs/reference/api.md §2.4). */
export const writeUsage = ({ usage, cost }: Bill): string => `{${writeCounts(usage)},"cost":${formatUsd(cost)}}`;
