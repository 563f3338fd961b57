import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { inject, onTestFinished } from 'vitest';
import { type DatabaseLocation, openDatabase } from '../../src/store/open-database.ts';
import { createKey, type KeyRecord } from '../../src/store/keys.ts';
import { ledgerRow } from '../../src/store/schema.ts';
import { settleBatch } from '../../src/store/settle-batch.ts';
import { createWorkspace } from '../../src/store/workspaces.ts';
import type { Outcome, Workspace } from '../../src/core/account.ts';
import { parseUsd } from '../../src/core/money.ts';

export const sampleNow = Date.UTC(2026, 6, 1);

/** Which database the tests of the store run on: SQLite in the unit suite, PostgreSQL in the suite `stores`. */
export const databaseKind: DatabaseLocation['kind'] = inject('postgres') === undefined ? 'sqlite' : 'postgres';

/** A folder that is gone when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let schemas = 0;

/** Where a new and empty database is: a file, or a schema of the server. Gone when the test is over. */
export async function newLocation(): Promise<DatabaseLocation> {
  const server = inject('postgres');
  if (server === undefined) return { kind: 'sqlite', file: join(temporaryFolder(), 'weir.db') };
  const schema = `test_${process.pid}_${(schemas += 1)}`;
  const run = async (sql: string): Promise<void> => {
    const client = new Client({ connectionString: server });
    await client.connect();
    await client.query(sql);
    await client.end();
  };
  await run(`create schema ${schema}`);
  onTestFinished(() => run(`drop schema ${schema} cascade`));
  return { kind: 'postgres', url: `${server}?options=${encodeURIComponent(`-c search_path=${schema}`)}` };
}

/** A new database with one workspace, "acme", and one key of it. Closed when the test is over. */
export async function sampleDatabase(credit = '10') {
  const location = await newLocation();
  const database = await openDatabase(location, { missing: 'create', user: 'operator' });
  onTestFinished(() => database.close());
  const { queries } = database;
  const workspace: Workspace = await createWorkspace(queries, {
    name: 'acme',
    credit: parseUsd(credit) ?? 0n,
    maxInFlight: 256,
    now: sampleNow,
  });
  const made = await createKey(queries, { workspace: 'acme', rate: 100, burst: 200, now: sampleNow });
  const key: KeyRecord = made.key;
  return {
    location,
    database,
    queries,
    workspace,
    key,
    text: made.text,
    ids: { workspaceId: workspace.id, keyId: key.id },
    settle: (outcomes: readonly Outcome[]) => settleBatch(database, outcomes.map(ledgerRow)),
  };
}
