import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { settleBatch } from '../../src/books/ledger/settle-batch.ts';
import { createKey } from '../../src/books/accounts/keys.ts';
import { createWorkspace } from '../../src/books/accounts/workspaces.ts';
import { sampleAuthor, temporaryFolder } from './sample-database.ts';
import { sampleOutcome } from './sample-outcome.ts';

/** Opens the SQLite database of a folder as a service does. */
export const openIn = (folder: string) =>
  openDatabase({ kind: 'sqlite', file: join(folder, 'weir.db') }, { missing: 'create', user: 'service' });

type Open = Awaited<ReturnType<typeof openIn>>;

/** Settles rows with the one key of an open database, each in a commit of its own. */
async function settlerFor(database: Open): Promise<(count: number, prefix?: string) => Promise<void>> {
  const row = await database.queries.selectFrom('keys').select(['id', 'workspace_id']).executeTakeFirstOrThrow();
  const ids = { keyId: row.id, workspaceId: row.workspace_id };
  return async (count, prefix = 'r') => {
    for (let number = 0; number < count; number += 1) {
      await settleBatch(database, [sampleOutcome({ ...ids, requestId: `${prefix}-${number}` })]);
    }
  };
}

/** An account in an open database, and what settles rows of it. */
export async function withAccount(database: Open) {
  await createWorkspace(database.queries, { name: 'acme', credit: 10n, maxInFlight: 1 }, sampleAuthor);
  await createKey(database.queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor);
  return { settle: await settlerFor(database) };
}

/** A copy of a folder's database files as they are at this moment, which is what a killed process leaves behind. */
export function asIfKilled(folder: string): string {
  const copy = temporaryFolder();
  for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(copy, name));
  return copy;
}

/** How many rows the ledger of a folder has when it is opened; the reason when it is refused. */
export async function rowsIn(folder: string): Promise<number | string> {
  try {
    const database = await openIn(folder);
    try {
      return (await database.queries.selectFrom('requests').select('request_text').execute()).length;
    } finally {
      await database.close();
    }
  } catch (error) {
    return String(error);
  }
}
