import type { OpenDatabase } from '../../src/books/databases/database.ts';
import { verifyLedger } from '../../src/books/ledger/verify-ledger.ts';

/** Differences of all kinds that `weir ledger verify` would find. */
export async function differencesIn({ queries }: Pick<OpenDatabase, 'queries'>): Promise<readonly unknown[]> {
  const books = await verifyLedger(queries);
  const wrong = books.workspaces.filter(({ balance, expected }) => balance !== expected);
  return [
    ...wrong,
    ...books.spendingDifferences,
    ...books.dayDifferences,
    ...books.rowDifferences,
    ...books.tagDifferences,
  ];
}
