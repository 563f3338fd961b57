import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { runSql, schemaLocation } from './postgres-schema.ts';
import type { DatabaseLocation } from '../../src/books/databases/database.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import type { Authorship, KeyRecord } from '../../src/books/core/administration.ts';
import { createKey } from '../../src/books/accounts/keys.ts';
import { settleBatch } from '../../src/books/ledger/settle-batch.ts';
import { createWorkspace } from '../../src/books/accounts/workspaces.ts';
import type { Outcome, Workspace } from '../../src/core/account.ts';
import { parseUsd } from '../../src/core/money.ts';

export const sampleNow = Date.UTC(2026, 6, 1);

/** Who makes the changes of tests, and when. */
export const sampleAuthor: Authorship = { actor: { kind: 'command-line', name: 'tester' }, now: sampleNow };

/** Which database the tests of the store run on: SQLite in the unit suite, PostgreSQL in the suite `stores`. */
export const databaseKind: DatabaseLocation['kind'] = inject('postgres') === undefined ? 'sqlite' : 'postgres';

/** A folder that is gone when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let schemas = 0;
let ofThisFile: Promise<string> | undefined;

/**
 * The URL of a database of this file alone, which ends with the server. Making tables looks at those of all schemas of a
 * database, and fails when another test drops one meanwhile.
 */
export function databaseOfThisFile(server: string): Promise<string> {
  ofThisFile ??= (async () => {
    const name = `test_${randomUUID().replaceAll('-', '')}`;
    await runSql(server, `create database ${name}`);
    return Object.assign(new URL(server), { pathname: `/${name}` }).href;
  })();
  return ofThisFile;
}

/** Where a new and empty database is: a file, or a schema. Gone when the test is over. */
export async function newLocation(): Promise<DatabaseLocation> {
  const server = inject('postgres');
  if (server === undefined) return { kind: 'sqlite', file: join(temporaryFolder(), 'weir.db') };
  const schema = `test_${(schemas += 1)}`;
  const url = await databaseOfThisFile(server);
  await runSql(url, `create schema ${schema}`);
  onTestFinished(() => runSql(url, `drop schema ${schema} cascade`));
  return schemaLocation(url, schema);
}

/** A new database, or an empty one, with one workspace, "acme", and one key of it. Closed when the test is over. */
export async function sampleDatabase(credit = '10', given?: DatabaseLocation) {
  const location = given ?? (await newLocation());
  const database = await openDatabase(location, { missing: 'create', user: 'operator' });
  onTestFinished(() => database.close());
  const { queries } = database;
  const workspace: Workspace = await createWorkspace(
    queries,
    { name: 'acme', credit: parseUsd(credit) ?? 0n, maxInFlight: 256 },
    sampleAuthor,
  );
  const made = await createKey(queries, { workspace: 'acme', rate: 100, burst: 200 }, sampleAuthor);
  const key: KeyRecord = made.key;
  return {
    location,
    database,
    queries,
    workspace,
    key,
    text: made.text,
    ids: { workspaceId: workspace.id, keyId: key.id },
    settle: (outcomes: readonly Outcome[]) => settleBatch(database, outcomes),
  };
}
