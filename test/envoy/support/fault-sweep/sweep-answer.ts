import { costOf, picoUsd, type Prices } from '../cost.ts';
import type { LedgerRow } from '../../../support/weir.ts';

/** What `catalog-objects.ts` asks for a token. */
const sweepPrices: Prices = { prompt: 150_000n, cached: 30_000n, completion: 600_000n };

/** What came of one broken request. */
export interface SweepAnswer {
  readonly status: number;
  readonly body: string;
  /** Rows of the ledger that it has. */
  readonly rows: readonly LedgerRow[];
}

/** As text; the order in which an object's fields came does not matter. */
export const shown = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  ) ?? 'undefined';

/** In words; undefined when it is as it should be. */
export function differs(what: string, is: unknown, should: unknown): string | undefined {
  return shown(is) === shown(should) ? undefined : `${what} is ${shown(is)}, not ${shown(should)}`;
}

/** The id that all chunks of an answer carry. */
export const idOf = (body: string): string => /"id":"(chatcmpl-[^"]+)"/.exec(body)?.[1] ?? '';

/** What is wrong with the rows of an answer: one is wanted, with these fields, at the price of its tokens. */
export function faultOfRow(rows: readonly LedgerRow[], expected: LedgerRow): string | undefined {
  const [row, ...others] = rows;
  if (row === undefined || others.length > 0) return `${rows.length} rows in the ledger`;
  for (const [name, value] of Object.entries(expected)) {
    const fault = differs(`the row's ${name}`, row[name], value);
    if (fault !== undefined) return fault;
  }
  return picoUsd(row['cost']) === costOf(row, sweepPrices) ? undefined : `the row's cost is ${shown(row['cost'])}`;
}
