import type { Kysely } from 'kysely';
import { costOf, type Money, type Prices, type Usage } from '../../core/money.ts';
import type { Schema } from '../databases/schema.ts';
import { recordedPrices } from './model-prices.ts';

/** A settled request, as far as its bill needs it. */
export interface BilledRequest {
  readonly modelId: string;
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
  readonly usage: Usage;
  readonly cost: Money;
}

/**
 * The unit prices of a bill, by the prices that the audit trail has. A change is recorded up to a minute after it took
 * effect, so the prices of that moment are those in force or the next ones: those count that give the cost to the last
 * unit. Undefined: none does, or both do and differ.
 */
export async function billedPrices(
  queries: Kysely<Schema>,
  { modelId, startedAt, usage, cost }: BilledRequest,
): Promise<Prices | undefined> {
  const recorded = (await recordedPrices(queries, [modelId])).get(modelId) ?? [];
  const inForce = recorded.findLastIndex(({ at }) => at <= startedAt);
  const candidates = recorded.slice(Math.max(0, inForce), inForce + 2).map(({ prices }) => ({
    prompt: prices.prompt,
    completion: prices.completion,
    inputCacheRead: prices.cached,
  }));
  const searches = BigInt(usage.webSearches ?? 0);
  const [likeliest] = candidates;
  if (searches > 0n) {
    return likeliest === undefined || candidates.length > 1
      ? undefined
      : withSearches(likeliest, { rest: cost - costOf(usage, likeliest), searches });
  }
  const [prices, ...others] = candidates.filter((one) => costOf(usage, one) === cost);
  return others.length === 0 ? prices : undefined;
}

/** The price of a search is not recorded: it is the rest. */
function withSearches(
  prices: Prices,
  { rest, searches }: { readonly rest: Money; readonly searches: bigint },
): Prices | undefined {
  return rest < 0n || rest % searches !== 0n ? undefined : { ...prices, webSearch: rest / searches };
}
