import {
  chownSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { asIfKilled, openIn, rowsIn, settlerFor, withAccount } from '../../../../test/support/ledger-on-disk.ts';
import { temporaryFolder } from '../../../../test/support/sample-database.ts';
import { acceptLoss } from './lost-commits.ts';

/** What a killed service leaves: some rows in the file, the latest in the WAL. */
async function killedService(): Promise<string> {
  const folder = temporaryFolder();
  const first = await openIn(folder);
  const { settle } = await withAccount(first);
  await settle(5, 'old');
  await first.close();
  const database = await openIn(folder);
  const later = await settlerFor(database);
  await later(12);
  const left = asIfKilled(folder);
  await database.close();
  expect(statSync(join(left, 'weir.db-wal')).size).toBeGreaterThan(0);
  return left;
}

/** What SQLite alone makes of the files: a number of rows, and whether its check is content. */
function believed(folder: string): { readonly rows: number; readonly check: unknown } {
  const database = new DatabaseSync(join(folder, 'weir.db'));
  try {
    const check = database.prepare('pragma quick_check').get()?.['quick_check'];
    const table = database.prepare("select 1 from sqlite_master where name = 'requests'").get();
    const rows = table === undefined ? 0 : Number(database.prepare('select count(*) as n from requests').get()?.['n']);
    return { rows, check };
  } finally {
    database.close();
  }
}

const path = (folder: string, name: string): string => join(folder, name);

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  for (const index of [at, at + 1, at + 2]) bytes[index] = (bytes[index] ?? 0) ^ 0xff;
  writeFileSync(file, bytes);
}

const losses: readonly (readonly [string, (folder: string) => void])[] = [
  ['a WAL that was removed', (folder) => rmSync(path(folder, 'weir.db-wal'))],
  [
    'a WAL and an index of it that were removed',
    (folder) => ['-wal', '-shm'].forEach((end) => rmSync(path(folder, `weir.db${end}`))),
  ],
  ['an emptied WAL', (folder) => truncateSync(path(folder, 'weir.db-wal'))],
  [
    'a WAL cut to half',
    (folder) => truncateSync(path(folder, 'weir.db-wal'), statSync(path(folder, 'weir.db-wal')).size >> 1),
  ],
  [
    'a WAL with its last commit cut off',
    (folder) => truncateSync(path(folder, 'weir.db-wal'), statSync(path(folder, 'weir.db-wal')).size - 10),
  ],
  [
    'three bytes of the WAL flipped',
    (folder) => flip(path(folder, 'weir.db-wal'), statSync(path(folder, 'weir.db-wal')).size >> 1),
  ],
];

describe.each(losses)('%s', (_, harm) => {
  it('is refused, with what to do, and changes nothing', async () => {
    const folder = await killedService();
    harm(folder);
    const before = readFileSync(path(folder, 'weir.db'));
    const answer = await rowsIn(folder);
    expect(answer).toContain(`Cannot open the database at ${path(folder, 'weir.db')}`);
    expect(answer).toMatch(/weir\.db holds \d+ commits, and weir\.db-mark beside it counts \d+/);
    expect(answer).toContain(`weir ledger accept-loss --data ${folder}`);
    expect(readFileSync(path(folder, 'weir.db'))).toEqual(before);
    expect(await rowsIn(folder)).toBe(answer);
  });

  it('goes unnoticed by SQLite, and without the mark', async () => {
    const folder = await killedService();
    harm(folder);
    rmSync(path(folder, 'weir.db-mark'));
    const { rows, check } = believed(asIfKilled(folder));
    expect(check).toBe('ok');
    expect(rows).toBeLessThan(17);
    expect(await rowsIn(folder)).toBe(rows);
  });

  it('is accepted on demand, and the record of it is kept', async () => {
    const folder = await killedService();
    harm(folder);
    const accepted = acceptLoss(path(folder, 'weir.db'), new Date(0));
    expect(accepted?.setAside).toEqual([path(folder, 'weir.db-mark.set-aside-1970-01-01T00-00-00-000Z')]);
    expect(readdirSync(folder)).toContain('weir.db-mark.set-aside-1970-01-01T00-00-00-000Z');
    expect(await rowsIn(folder)).toBeLessThan(17);
    expect(acceptLoss(path(folder, 'weir.db'), new Date())).toBeUndefined();
  });
});

describe('an empty database file', () => {
  it.each(['emptied', 'removed'] as const)('that was %s beside a WAL is refused, and the WAL stays', async (how) => {
    const folder = await killedService();
    rmSync(path(folder, 'weir.db-mark'));
    if (how === 'emptied') truncateSync(path(folder, 'weir.db'));
    else rmSync(path(folder, 'weir.db'));
    const wal = readFileSync(path(folder, 'weir.db-wal'));
    expect(await rowsIn(folder)).toContain('weir.db is missing or empty, and weir.db-wal beside it holds commits');
    expect(readFileSync(path(folder, 'weir.db-wal'))).toEqual(wal);

    const harmed = asIfKilled(folder);
    expect(believed(harmed)).toEqual({ rows: 0, check: 'ok' });

    acceptLoss(path(folder, 'weir.db'), new Date(0));
    expect(await rowsIn(folder)).toBe(0);
    expect(readFileSync(path(folder, 'weir.db-wal.set-aside-1970-01-01T00-00-00-000Z'))).toEqual(wal);
  });

  it('that was removed with everything but the mark is refused', async () => {
    const folder = await killedService();
    for (const end of ['', '-wal', '-shm']) rmSync(path(folder, `weir.db${end}`));
    expect(await rowsIn(folder)).toContain('weir.db is missing or empty, and weir.db-mark beside it counts');
    expect(readdirSync(folder)).toEqual(['weir.db-mark']);
    acceptLoss(path(folder, 'weir.db'), new Date());
    expect(await rowsIn(folder)).toBe(0);
  });
});

describe('no refusal', () => {
  it('of what a killed or a closed service leaves', async () => {
    const folder = await killedService();
    expect(await rowsIn(folder)).toBe(17);
    expect(readdirSync(folder).toSorted()).toEqual(['weir.db', 'weir.db-mark']);
    expect(await rowsIn(folder)).toBe(17);
  });

  it('of a database that a version without a mark made, nor of one whose mark was removed', async () => {
    const folder = await killedService();
    rmSync(path(folder, 'weir.db-mark'));
    expect(await rowsIn(folder)).toBe(17);
    rmSync(path(folder, 'weir.db-mark'));
    const raw = new DatabaseSync(path(folder, 'weir.db'));
    raw.exec('drop table commit_count');
    raw.close();
    expect(await rowsIn(folder)).toBe(17);
    expect(readFileSync(path(folder, 'weir.db-mark'), 'latin1')).toMatch(/^weir-commits [0-9a-f-]{36} 0{20}\n$/);
  });

  it('of a database that several have open, one of which closes', async () => {
    const folder = temporaryFolder();
    const service = await openIn(folder);
    const { settle } = await withAccount(service);
    const command = await openIn(folder);
    await settle(5, 'a');
    await command.close();
    await settle(5, 'b');
    const left = asIfKilled(folder);
    await service.close();
    expect([await rowsIn(left), await rowsIn(folder)]).toEqual([10, 10]);
  });

  it('of another ledger that is put in the place of this one', async () => {
    const [folder, other] = [await killedService(), temporaryFolder()];
    const database = await openIn(other);
    await (await withAccount(database)).settle(3);
    await database.close();
    expect(await rowsIn(folder)).toBe(17);
    copyFileSync(path(other, 'weir.db'), path(folder, 'weir.db'));
    expect(await rowsIn(folder)).toBe(3);
    expect(await rowsIn(folder)).toBe(3);
  });
});

describe('a restored backup', () => {
  async function backedUp() {
    const folder = temporaryFolder();
    const database = await openIn(folder);
    onTestFinished(() => database.close());
    const { settle } = await withAccount(database);
    await settle(5, 'before');
    const copy = path(temporaryFolder(), 'copy.db');
    expect(await database.file?.copyTo(copy)).toEqual({ rows: 5 });
    await settle(5, 'after');
    return { folder: asIfKilled(folder), copy };
  }

  it('takes the place of the ledger it was made of, again and again', async () => {
    const { folder, copy } = await backedUp();
    expect(await rowsIn(folder)).toBe(10);
    for (const _ of [1, 2]) {
      copyFileSync(copy, path(folder, 'weir.db'));
      const restored = await openIn(folder);
      expect(await restored.queries.selectFrom('requests').select('request_text').execute()).toHaveLength(5);
      await (
        await settlerFor(restored)
      )(3);
      await restored.close();
      expect(await rowsIn(folder)).toBe(8);
    }
  });

  it('is refused beside the WAL of the ledger it takes the place of, which SQLite would write over it', async () => {
    const { folder, copy } = await backedUp();
    copyFileSync(copy, path(folder, 'weir.db'));
    expect(believed(asIfKilled(folder)).rows).not.toBe(5);
    expect(await rowsIn(folder)).toContain('is a copy that was put here, and weir.db-wal beside it belongs to another');
    acceptLoss(path(folder, 'weir.db'), new Date());
    expect(await rowsIn(folder)).toBe(5);
  });

  it('is no way back in silence for a plain copy of an older file', async () => {
    const folder = temporaryFolder();
    const database = await openIn(folder);
    const { settle } = await withAccount(database);
    await settle(5, 'a');
    await database.close();
    const old = readFileSync(path(folder, 'weir.db'));
    const later = await openIn(folder);
    await (
      await settlerFor(later)
    )(1);
    await later.close();
    writeFileSync(path(folder, 'weir.db'), old);
    expect(await rowsIn(folder)).toContain('replaced by an older one');
  });
});

describe('a mark', () => {
  it.runIf(process.geteuid?.() === 0)('that root makes belongs to the owner of the database', async () => {
    const folder = temporaryFolder();
    await (await openIn(folder)).close();
    rmSync(path(folder, 'weir.db-mark'));
    chownSync(path(folder, 'weir.db'), 12_345, 23_456);
    await (await openIn(folder)).close();
    expect(statSync(path(folder, 'weir.db-mark'))).toMatchObject({ uid: 12_345, gid: 23_456 });
  });

  it('that is none is refused, and an empty one says nothing', async () => {
    const folder = await killedService();
    writeFileSync(path(folder, 'weir.db-mark'), 'notes');
    expect(await rowsIn(folder)).toContain('weir.db-mark beside it cannot be read');
    truncateSync(path(folder, 'weir.db-mark'));
    expect(await rowsIn(folder)).toBe(17);
  });

  it('counts every transaction that writes, and none that reads or is rolled back', async () => {
    const folder = temporaryFolder();
    const database = await openIn(folder);
    const mark = () => Number(readFileSync(path(folder, 'weir.db-mark'), 'latin1').slice(-21));
    const { settle } = await withAccount(database);
    const before = mark();
    await settle(3);
    expect(mark()).toBe(before + 3);
    await database.queries
      .transaction()
      .setAccessMode('read only')
      .execute(async () => undefined);
    await expect(database.queries.transaction().execute(async () => Promise.reject(new Error('no')))).rejects.toThrow(
      'no',
    );
    expect(mark()).toBe(before + 3);
    await database.close();
    expect(mark()).toBe(before + 3);
  });
});
