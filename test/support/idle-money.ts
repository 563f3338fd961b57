import type { MoneyFigures } from '../../src/books/core/money-figures.ts';

const usd = 1_000_000_000_000n;

/** A workspace that has enough, and spends little. */
export const idleMoney: MoneyFigures = {
  workspaces: [{ name: 'acme', balance: 100n * usd, available: 100n * usd, spentPerDay: usd }],
  otherWorkspaces: { count: 0, balance: 0n, available: 0n, spentPerDay: 0n },
  keys: [{ id: 'key_1', workspace: 'acme', spent: usd, limit: 10n * usd }],
};
