import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import { tryLock } from '../../src/process/lock.ts';
import { startWorker } from '../../src/process/worker-thread.ts';
import type { DatabaseLocation } from '../../src/books/databases/database.ts';
import type { OpenStore } from '../../src/books/store/connect-store.ts';
import { openStore, startStoreThread, type StoreOptions } from '../../src/books/store/open-store.ts';
import { temporaryFolder } from './sample-database.ts';

/** A store on a database, with a journal in a folder of its own. Closed when the test is over, if the test has not. */
export async function storeAt(location: DatabaseLocation, options: Partial<StoreOptions> = {}): Promise<OpenStore> {
  const journal = join(temporaryFolder(), 'journal');
  const store = await openStore({ location, journal, tryLock, thread: startStoreThread(startWorker), ...options });
  onTestFinished(() => store.close());
  return store;
}

/** The path of an SQLite database; for tests that are about nothing else. */
export function sqliteFile(location: DatabaseLocation): string {
  if (location.kind !== 'sqlite') throw new Error('this test is about SQLite');
  return location.file;
}

/** What WEIR_DATABASE_URL is for a database. */
export function databaseUrl(location: DatabaseLocation): string {
  return location.kind === 'sqlite' ? `sqlite:${location.file}` : location.url;
}

/** Another program that keeps everybody from writing until `release`. */
export async function lockedByAnother(location: DatabaseLocation): Promise<{ readonly release: () => Promise<void> }> {
  if (location.kind === 'sqlite') {
    const other = new DatabaseSync(location.file, { timeout: 5_000 });
    onTestFinished(() => other.close());
    other.exec('begin immediate');
    return { release: async () => other.exec('rollback') };
  }
  const other = new Client({ connectionString: location.url });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query('begin');
  await other.query('lock table requests in exclusive mode');
  return { release: async () => void (await other.query('rollback')) };
}
