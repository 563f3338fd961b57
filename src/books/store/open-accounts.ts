import type { DatabaseLocation, OpenOptions } from '../databases/database.ts';
import { openDatabase } from '../databases/open-database.ts';
import { refusal } from '../core/operator-refusals.ts';
import { changes, declared, operations } from './account-operations.ts';
import { exportRequests } from '../ledger/export-requests.ts';
import { operationsOf } from './operation-names.ts';

/** The accounts, keys and ledger of one database. */
export type Accounts = Awaited<ReturnType<typeof openAccounts>>;

/**
 * Opens the accounts in this thread, for commands that do one thing and end. Running services see a change within a
 * second. A service must not wait for the disk, so it uses `openStore` instead. Rejects with a sentence that names the
 * database. An operation rejects with a `Refusal` if it cannot be done as asked.
 */
export async function openAccounts(location: DatabaseLocation, options: OpenOptions) {
  const { queries, announce, classify, file, close } = await openDatabase(location, options);

  return {
    ...operationsOf(operations, async (name, given) => {
      const result = await operations[name](queries, ...given);
      // The change is made even if this fails. A service that is not notified sees it a moment later.
      if (name in changes || name in declared) await announce().catch(() => undefined);
      return result;
    }),
    exportRequests: exportRequests.bind(undefined, queries),
    /** Whether an error of one of these functions, other than a `Refusal`, means that the database is down. */
    isDown: (error: unknown) => classify(error) === 'down',
    /** The damage in the file. Undefined: a server keeps the data. */
    findDamage: () => file?.findDamage(),
    /** Makes the file as small as it can be. Throws a `Refusal` where a server keeps the data. */
    shrink: () => {
      if (file === undefined) throw refusal('shrink_of_postgres');
      return file.shrink();
    },
    close,
  };
}

/**
 * Copies an SQLite database into a new file, also while services run. Returns the number of rows in its ledger. Rejects
 * with a sentence if the file exists or the database cannot be copied. PostgreSQL has a program of its own, so a
 * PostgreSQL database is refused.
 */
export async function backUp(location: DatabaseLocation, path: string): Promise<{ readonly rows: number }> {
  if (location.kind === 'postgres') throw refusal('backup_of_postgres');
  const { openSqlite } = await import('../databases/sqlite/open.ts');
  const { file, close } = await openSqlite(location, { missing: 'refuse', user: 'operator' });
  try {
    return await file.copyTo(path);
  } finally {
    await close();
  }
}
