import { messageOf } from '../core/failure.ts';
import type { OpenDatabase } from './open-database.ts';
import type { LedgerTable } from './schema.ts';
import { settleBatch, type Settled, type Spending } from './settle-batch.ts';

/** A row that can never be written. */
export interface RefusedRow {
  /** Index into the batch. */
  readonly index: number;
  readonly message: string;
}

export type SettleResult =
  | (Settled & { readonly kind: 'settled'; readonly refused: readonly RefusedRow[] })
  /** The database did not take it, or did not say: the rows are to be kept and settled again, all of them. */
  | { readonly kind: 'away'; readonly message: string };

/** Transactions that get in each other's way are rare, since all take their rows in one order; that it happens so often in a row is not. */
const tries = 5;

/**
 * Settles a batch; never rejects. When the batch as a whole is refused its rows are settled one by one, so that one bad row
 * (an unknown workspace, a cost past 64 bits) harms nobody else's.
 */
export async function settleOrExplain(
  database: Pick<OpenDatabase, 'queries' | 'writes' | 'classify'>,
  rows: readonly LedgerTable[],
): Promise<SettleResult> {
  const first = await attempt(database, rows);
  switch (first.kind) {
    case 'settled':
    case 'away':
      return first;
    case 'refused':
      break;
  }
  if (rows.length === 1) return nothingBut([{ index: 0, message: first.message }]);
  const balances = new Map<string, bigint>();
  const spendings: Spending[] = [];
  const refused: RefusedRow[] = [];
  for (const [index, row] of rows.entries()) {
    const single = await attempt(database, [row]);
    switch (single.kind) {
      case 'settled':
        for (const [id, balance] of single.balances) balances.set(id, balance);
        spendings.push(...single.spendings);
        break;
      case 'refused':
        refused.push({ index, message: single.message });
        break;
      case 'away':
        return single;
    }
  }
  return { kind: 'settled', balances: [...balances], spendings, refused };
}

function nothingBut(refused: readonly RefusedRow[]): SettleResult {
  return { kind: 'settled', balances: [], spendings: [], refused };
}

async function attempt(
  database: Pick<OpenDatabase, 'queries' | 'writes' | 'classify'>,
  rows: readonly LedgerTable[],
): Promise<SettleResult | { readonly kind: 'refused'; readonly message: string }> {
  for (let left = tries - 1; ; left -= 1) {
    try {
      return { kind: 'settled', refused: [], ...(await settleBatch(database, rows)) };
    } catch (error) {
      const kind = database.classify(error);
      const message = messageOf(error);
      if (kind === 'refused') return { kind: 'refused', message };
      if (kind === 'away' || left === 0) return { kind: 'away', message };
    }
  }
}
