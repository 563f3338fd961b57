import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sampleDatabase, temporaryFolder } from '../../../../test/support/sample-database.ts';
import { sqliteFile } from '../../../../test/support/sample-store.ts';
import { hashKey } from '../../accounts/key-text.ts';
import type { OpenOptions } from '../database.ts';
import { openDatabase } from '../open-database.ts';

const at = ({ file, ...options }: Omit<OpenOptions, 'user'> & { readonly file: string }) =>
  openDatabase({ kind: 'sqlite', file }, { ...options, user: 'operator' });

async function open(options: Parameters<typeof at>[0]) {
  const database = await at(options);
  onTestFinished(() => database.close());
  return database;
}

describe('an SQLite database', () => {
  it('makes the folder and the files for their owner alone', async () => {
    const folder = join(temporaryFolder(), 'new', 'data');
    const file = join(folder, 'weir.db');
    const { queries } = await open({ file, missing: 'create' });
    await queries.selectFrom('workspaces').selectAll().execute();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const suffix of ['', '-wal', '-shm']) expect(statSync(file + suffix).mode & 0o777, suffix).toBe(0o600);
  });

  it('leaves the folder of an existing database as it is', async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    await open({ file: join(folder, 'weir.db'), missing: 'create' });
    expect(statSync(folder).mode & 0o777).toBe(0o755);
  });

  it('refuses a missing database by its path unless it is to be made', async () => {
    const file = join(temporaryFolder(), 'weir.db');
    await expect(at({ file, missing: 'refuse' })).rejects.toThrow(`There is no database at ${file}.`);
  });

  it('syncs every commit to the disk and lets readers work beside a writer', async () => {
    const file = join(temporaryFolder(), 'weir.db');
    const first = await open({ file, missing: 'create' });
    const second = await open({ file, missing: 'refuse' });
    await first.queries.transaction().execute(async (transaction) => {
      const { id, ...rest } = {
        id: 'ws_1',
        name: 'a',
        status: 'active',
        balance: 0n,
        max_in_flight: 1n,
        created_at: 0n,
      } as const;
      await transaction
        .insertInto('workspaces')
        .values({ id, ...rest })
        .execute();
      expect(await second.queries.selectFrom('workspaces').selectAll().execute()).toEqual([]);
    });
    expect(await second.queries.selectFrom('workspaces').select('id').execute()).toEqual([{ id: 'ws_1' }]);
  });

  it('notices with its next look what another connection commits, and is not alarmed by its own', async () => {
    const file = join(temporaryFolder(), 'weir.db');
    const [ours, other] = [await open({ file, missing: 'create' }), await open({ file, missing: 'refuse' })];
    const insert = (database: typeof ours, id: string) =>
      database.queries
        .insertInto('workspaces')
        .values({ id, name: id, status: 'active', balance: 0n, max_in_flight: 1n, created_at: 0n })
        .execute();
    const seen: string[] = [];
    const calls = { changed: () => seen.push('changed'), confirmed: () => seen.push('confirmed') };
    const watching = ours.watch(calls);
    onTestFinished(watching.stop);
    await insert(ours, 'a');
    await expect.poll(() => seen.length).toBeGreaterThan(1);
    expect(new Set(seen)).toEqual(new Set(['confirmed']));
    const before = seen.length;
    await insert(other, 'b');
    await expect.poll(() => seen.slice(before)).toContain('changed');
    // One look may have been before the commit.
    expect(seen.indexOf('changed', before)).toBeLessThanOrEqual(before + 1);
  });

  it('looks at once when the quiet ends', async () => {
    const file = join(temporaryFolder(), 'weir.db');
    const [ours, other] = [await open({ file, missing: 'create' }), await open({ file, missing: 'refuse' })];
    const seen: string[] = [];
    let asked = 0;
    const isQuiet = (): boolean => {
      asked += 1;
      return true;
    };
    const calls = { changed: () => seen.push('changed'), confirmed: () => seen.push('confirmed'), isQuiet };
    const watching = ours.watch(calls);
    expect(asked).toBe(1);
    onTestFinished(watching.stop);
    await other.queries
      .insertInto('workspaces')
      .values({ id: 'a', name: 'a', status: 'active', balance: 0n, max_in_flight: 1n, created_at: 0n })
      .execute();
    watching.wake?.();
    expect(seen).toContain('changed');
  });

  it('refuses a file that is no database, by its path, and leaves it alone', async () => {
    const file = join(temporaryFolder(), 'weir.db');
    writeFileSync(
      file,
      'These are my notes, and quite long ones: longer than the header of a database file is, to be precise.',
    );
    await expect(at({ file, missing: 'create' })).rejects.toThrow(
      `Cannot open the database at ${file}: file is not a database.`,
    );
  });

  it('is not up while it can only be read', async () => {
    const file = join(temporaryFolder(), 'weir.db');
    const { queries, probe } = await open({ file, missing: 'create' });
    await sql`pragma query_only = 1`.execute(queries);
    await expect(probe()).rejects.toThrow('readonly database');
    await sql`pragma query_only = 0`.execute(queries);
    const walBytes = (): number => statSync(`${file}-wal`).size;
    const before = walBytes();
    await probe();
    // Only a write proves that the disk takes one.
    expect(walBytes()).toBeGreaterThan(before);
  });

  it('has no key as text on the disk', async () => {
    const { location, text } = await sampleDatabase();
    const file = sqliteFile(location);
    const bytes = [file, `${file}-wal`].map((path) => readFileSync(path));
    expect(bytes.some((content) => content.includes(hashKey(text)))).toBe(true);
    expect(bytes.some((content) => content.includes(text) || content.includes(text.slice(8)))).toBe(false);
  });

  it('refuses tables that a newer version made', async () => {
    const file = join(temporaryFolder(), 'weir.db');
    await (await at({ file, missing: 'create' })).close();
    const raw = new DatabaseSync(file);
    raw.exec("insert into kysely_migration (name, timestamp) values ('9999-later', '2030-01-01T00:00:00.000Z')");
    raw.close();
    await expect(at({ file, missing: 'create' })).rejects.toThrow('newer version of Weir (9999-later');
  });

  it('refuses a sum past 64 bits, which SQLite alone would turn into a float', async () => {
    const { queries } = await open({ file: join(temporaryFolder(), 'weir.db'), missing: 'create' });
    const row = {
      id: 'a',
      name: 'a',
      status: 'active',
      balance: 8_999_999_999_999_999_999n,
      max_in_flight: 1n,
      created_at: 0n,
    } as const;
    await queries.insertInto('workspaces').values(row).execute();
    const add = queries.updateTable('workspaces').set((columns) => ({ balance: columns('balance', '+', 2n ** 62n) }));
    await expect(add.execute()).rejects.toThrow('CHECK constraint failed');

    const raw = new DatabaseSync(':memory:');
    const harm = raw.prepare('select typeof(? + ?) as type').get(8_999_999_999_999_999_999n, 2n ** 62n);
    raw.close();
    expect(harm).toEqual({ type: 'real' });
  });
});
