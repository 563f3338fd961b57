import type { SettledRequest } from '../../src/core/settled-request.ts';
import { prices, searchPrice } from './catalog.ts';
import type { RequestEvent } from './events.ts';

/** A row, as far as it is a bill. */
export type BilledRow = Pick<SettledRequest, 'kind' | 'usage' | 'cost' | 'countedBy' | 'attempts'>;

/** What a bill is compared with. */
export interface Served {
  readonly event: Pick<RequestEvent, 'choices' | 'maxTokens' | 'search' | 'directive'>;
  /** Output tokens of the whole answer. */
  readonly completionTokens: number;
  /** The sizes that the prompts of all calls of the model can have together. */
  readonly promptTokens: ReadonlySet<number>;
  /** The size of the prompt with its directives, which only an estimate counts. Absent: they are a small part of it. */
  readonly withDirectives?: number | undefined;
  /** Whether an engine has continued what another one began. */
  readonly isContinued: boolean;
  /** Whether the model has a tokenizer, by which what an engine repeats is taken off exactly. */
  readonly isCounted?: boolean | undefined;
  /** Output tokens that the service has written of a stream. Undefined: the answer is whole, or its text is not what the model said. */
  readonly written: number | undefined;
  /** Output tokens of a stream that have reached its caller: no less is paid for them. Undefined: as above. */
  readonly received?: number | undefined;
  /** The factors of prices that a catalog in force had. */
  readonly factors: readonly number[];
  /** Searches with a result: that the caller got, and that the provider made. They differ where an answer has not reached its caller whole. */
  readonly searches: { readonly got: number; readonly made: number };
}

const isFree = ({ kind }: BilledRow): boolean => kind === 'failed' || kind === 'incomplete' || kind === 'service-lost';

/**
 * What is wrong with a bill, by the contract: nothing for a failure, at most the whole answer, and exactly its price
 * when it is complete.
 */
export function billFaults(row: BilledRow, served: Served): readonly string[] {
  const { kind, usage, cost, countedBy } = row;
  const { completionTokens, webSearches = 0 } = usage;
  const { event } = served;
  const faults: string[] = [];
  const searched = BigInt(webSearches) * searchPrice;
  const isPrice = served.factors.some((factor) => BigInt(factor) * tokenCost(usage) + searched === cost);
  if (kind !== 'failed' && kind !== 'incomplete' && !isPrice) faults.push(`${cost} for ${JSON.stringify(usage)}`);
  if (isFree(row) && cost !== 0n) faults.push(`${cost} for an answer that ${kind}`);
  faults.push(...searchedFaults(row, served), ...promptFaults(row, served), ...writtenFaults(row, served));
  const isOne = event.choices === 1 || row.attempts === 1;
  const most = served.completionTokens * (countedBy === 'engine' ? 1 : 2) + tokensCut(row, event);
  if (isOne && completionTokens > most) faults.push(`${completionTokens} output tokens of ${served.completionTokens}`);
  if (countedBy === 'estimate' || !isOne) return faults;
  // The cap is for all calls of the model together.
  const cap = (event.maxTokens ?? Infinity) * event.choices;
  if (completionTokens > cap) faults.push(`${completionTokens} output tokens past the cap of ${cap}`);
  return kind === 'completed' ? [...faults, ...exactly(row, served)] : faults;
}

/** Searches with a result are billed, except in an answer that broke off. */
function searchedFaults({ kind, usage }: BilledRow, { event, searches }: Served): readonly string[] {
  const { webSearches } = usage;
  const isBilled = kind === 'completed' || kind === 'cancelled';
  const [least, most] = isBilled ? [searches.got, searches.made] : [0, 0];
  if ((webSearches === undefined) !== (event.search === undefined)) return [`${webSearches} searches`];
  return (webSearches ?? 0) >= least && (webSearches ?? 0) <= most
    ? []
    : [`${webSearches} searches of a request that ${kind}, for ${least} to ${most}`];
}

/** Estimates suppose longer tokens than these engines have, and rather err low. The signs of a directive are short tokens there. */
const estimated = 1.3;

/** Nobody pays for more than the prompt, whoever has continued the answer, and for none if the answer broke off. */
function promptFaults(
  { kind, usage, countedBy }: BilledRow,
  { event, promptTokens, withDirectives = 0 }: Served,
): readonly string[] {
  if (kind === 'interrupted' || kind === 'service-lost')
    return usage.promptTokens === 0 ? [] : [`${usage.promptTokens} prompt tokens of a request that ${kind}`];
  const counted = Math.max(...promptTokens);
  const most = countedBy === 'engine' ? counted : Math.ceil(Math.max(counted, withDirectives) * estimated);
  return event.search === undefined && usage.promptTokens > most
    ? [`${usage.promptTokens} prompt tokens of ${most}`]
    : [];
}

/** An answer that is not complete costs what was written of it: after a continuation no more, and else exactly that. */
function writtenFaults({ kind, usage }: BilledRow, { written, received = 0, isContinued }: Served): readonly string[] {
  if (kind === 'cancelled' && !isContinued && usage.completionTokens < received)
    return [`${usage.completionTokens} output tokens of a request that ${kind}, with ${received} at its caller`];
  if (written === undefined || kind === 'completed' || kind === 'failed') return [];
  const { completionTokens } = usage;
  const isWrong = isContinued ? completionTokens > written : completionTokens !== written;
  return isWrong ? [`${completionTokens} output tokens of a request that ${kind}, with ${written} written`] : [];
}

/** A token that is cut in its middle is two: one for each break of an answer that comes by the letter. */
const tokensCut = ({ attempts }: BilledRow, { directive }: Served['event']): number =>
  directive?.deltaChars === undefined ? 0 : attempts - 1;

function exactly(row: BilledRow, served: Served): readonly string[] {
  const { event, completionTokens, promptTokens, isContinued, isCounted } = served;
  const faults: string[] = [];
  const { usage } = row;
  // Without a tokenizer, what an engine repeats is taken off by an estimate.
  const { continuation, continuationQuirk } = event.directive ?? {};
  const isRepeated = continuation === 'echo' && isCounted !== true;
  const isExact = !isRepeated && continuationQuirk === undefined && tokensCut(row, event) === 0;
  if (isExact && usage.completionTokens !== completionTokens)
    faults.push(`${usage.completionTokens} output tokens in place of ${completionTokens}`);
  // The prompt of an engine that continues has the delivered output, too, and its size there is an estimate.
  if (!isContinued && !promptTokens.has(usage.promptTokens))
    faults.push(`${usage.promptTokens} prompt tokens in place of ${[...promptTokens].join(' or ')}`);
  return faults;
}

/** The contract's price of tokens, told once more. */
function tokenCost({ promptTokens, cachedTokens = 0, completionTokens }: BilledRow['usage']): bigint {
  return (
    BigInt(promptTokens - cachedTokens) * prices.prompt +
    BigInt(cachedTokens) * prices.inputCacheRead +
    BigInt(completionTokens) * prices.completion
  );
}
