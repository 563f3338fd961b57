import type { Kysely } from 'kysely';
import type { Outcome } from '../../core/account.ts';
import type { Schema } from './schema.ts';
import { type Balances, settleBatch } from './settle-batch.ts';
import type { SettleFault } from './worker-message.ts';

/** Each try waits for the write lock as long as the connection's busy timeout says. */
const tries = 3;
const sqliteBusy = 5;

/**
 * Settles a batch; never rejects. When the batch as a whole is refused its rows are settled one by one, so that one bad row
 * (an unknown workspace, a count that is not a number) harms nobody else's.
 */
export async function settleOrExplain(
  queries: Kysely<Schema>,
  outcomes: readonly Outcome[],
): Promise<{ readonly balances: Balances; readonly faults: readonly SettleFault[] }> {
  const first = await attempt(queries, outcomes);
  if ('balances' in first) return { balances: first.balances, faults: [] };
  if (first.reason === 'busy' || outcomes.length === 1) {
    return { balances: [], faults: outcomes.map((_, index) => ({ ...first, index })) };
  }
  const balances = new Map<string, bigint>();
  const faults: SettleFault[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    const single = await attempt(queries, [outcome]);
    if ('balances' in single) for (const [id, balance] of single.balances) balances.set(id, balance);
    else faults.push({ ...single, index });
  }
  return { balances: [...balances], faults };
}

type Attempt = { readonly balances: Balances } | Pick<SettleFault, 'reason' | 'message'>;

async function attempt(queries: Kysely<Schema>, outcomes: readonly Outcome[]): Promise<Attempt> {
  for (let left = tries - 1; ; left -= 1) {
    try {
      return { balances: await settleBatch(queries, outcomes) };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!isBusy(error)) return { reason: 'refused', message };
      if (left === 0) return { reason: 'busy', message };
    }
  }
}

/** The low byte of SQLite's extended result code is the code (https://sqlite.org/rescode.html). */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === sqliteBusy;
}
