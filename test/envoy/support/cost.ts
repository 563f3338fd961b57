import type { LedgerRow } from '../../support/weir.ts';

/** Whole numbers of 10⁻¹² USD per token. */
export interface Prices {
  readonly prompt: bigint;
  readonly cached: bigint;
  readonly completion: bigint;
  /** Of one search of the web; none is searched unless told. */
  readonly search?: bigint;
}

/** A decimal of at most twelve places, as the ledger prints money, in 10⁻¹² USD. */
export function picoUsd(text: unknown): bigint {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d{1,12}))?$/.exec(String(text)) ?? [];
  if (whole === undefined) throw new Error(`not an amount: ${String(text)}`);
  return BigInt(whole + fraction.padEnd(12, '0'));
}

/** What the tokens of a row cost at these prices. */
export function costOf(row: LedgerRow, prices: Prices): bigint {
  const count = (name: string): bigint => BigInt(Number(row[name] ?? 0));
  const cached = count('cached_tokens');
  return (
    (count('prompt_tokens') - cached) * prices.prompt +
    cached * prices.cached +
    count('completion_tokens') * prices.completion +
    count('web_searches') * (prices.search ?? 0n)
  );
}
