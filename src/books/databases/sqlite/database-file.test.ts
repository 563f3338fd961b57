import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { asIfKilled, openIn, rowsIn, withAccount } from '../../../../test/support/ledger-on-disk.ts';
import { temporaryFolder } from '../../../../test/support/sample-database.ts';
import { startFileCheck } from './file-check.ts';
import { verifyLedger } from '../../ledger/verify-ledger.ts';

const pageBytes = 4_096;

/** A closed ledger of some pages. */
async function closedLedger(rows = 60): Promise<{ readonly folder: string; readonly file: string }> {
  const folder = temporaryFolder();
  const database = await openIn(folder);
  await (await withAccount(database)).settle(rows);
  await database.close();
  return { folder, file: join(folder, 'weir.db') };
}

/** What the check in the background finds. */
async function foundIn(file: string): Promise<readonly string[]> {
  const found: string[] = [];
  const check = startFileCheck(file, {
    onDamage: (findings) => found.push(...findings),
    onUnchecked: (reason) => found.push(`unchecked: ${reason}`),
  });
  await check.ended;
  expect(check.isDamaged()).toBe(found.length > 0);
  return found;
}

/** What a killed service leaves, its rows in the WAL, and a backup of the time before it wrote them. */
async function killedService(): Promise<{ readonly folder: string; readonly copy: string }> {
  const running = temporaryFolder();
  const database = await openIn(running);
  onTestFinished(() => database.close());
  const copy = join(temporaryFolder(), 'copy.db');
  await database.file?.copyTo(copy);
  await (await withAccount(database)).settle(5);
  const folder = asIfKilled(running);
  expect(await rowsIn(asIfKilled(folder))).toBe(5);
  return { folder, copy };
}

/** The rows that SQLite alone finds. */
function believed(folder: string): unknown {
  const database = new DatabaseSync(join(folder, 'weir.db'));
  onTestFinished(() => database.close());
  const table = database.prepare("select 1 from sqlite_master where name = 'requests'").get();
  return table && database.prepare('select count(*) as rows from requests').get()?.['rows'];
}

describe('a WAL that is not of the file beside it', () => {
  it.each([
    ['a file that was emptied', (file: string) => truncateSync(file), 'is missing or empty', undefined],
    ['a file that was removed', (file: string) => rmSync(file), 'is missing or empty', undefined],
    ['a backup', (file: string, copy: string) => copyFileSync(copy, file), 'is a copy, and', 5],
  ])('beside %s is refused, and stays', async (_, harm, words, harmed) => {
    const { folder, copy } = await killedService();
    const wal = readFileSync(join(folder, 'weir.db-wal'));
    harm(join(folder, 'weir.db'), copy);
    expect(await rowsIn(folder)).toContain(words);
    expect(readFileSync(join(folder, 'weir.db-wal'))).toEqual(wal);
    // SQLite deletes it, or writes it over the backup.
    expect(believed(asIfKilled(folder))).toBe(harmed);
    rmSync(join(folder, 'weir.db-wal'));
    expect(await rowsIn(folder)).toBe(0);
  });

  it('is none where a backup takes the place of a ledger whose three files were moved away', async () => {
    const { folder, copy } = await killedService();
    for (const _ of [1, 2]) {
      for (const end of ['', '-wal', '-shm']) rmSync(join(folder, `weir.db${end}`), { force: true });
      copyFileSync(copy, join(folder, 'weir.db'));
      expect(await rowsIn(folder)).toBe(0);
    }
  });
});

describe('a damaged file', () => {
  it('is refused when it is opened, or is found by a check, whichever page is hit', async () => {
    const { folder, file } = await closedLedger();
    const whole = readFileSync(file);
    const database = await openIn(folder);
    expect(database.file?.findDamage()).toEqual([]);
    await database.close();
    const refused: string[] = [];
    for (let page = 0; page * pageBytes < whole.length; page += 1) {
      const bytes = Buffer.from(whole);
      // The header of the page: what kind it is, and where things are. The first page begins with the header of the file.
      for (let at = 0; at < 8; at += 1) bytes[page * pageBytes + at] = 0xff ^ (bytes[page * pageBytes + at] ?? 0);
      writeFileSync(file, bytes);
      const opened = await openIn(folder).catch((error: unknown) => refused.push(String(error)));
      if (typeof opened === 'number') continue;
      expect(opened.file?.findDamage().length, `page ${page}`).toBeGreaterThan(0);
      await opened.close();
    }
    expect(refused.length).toBeGreaterThan(0);
    for (const message of refused) expect(message).toContain('Restore a backup');
  });

  it('is refused when it was cut, at whichever page', async () => {
    const { folder, file } = await closedLedger();
    const whole = readFileSync(file);
    for (let bytes = whole.length - pageBytes; bytes > 0; bytes -= pageBytes) {
      writeFileSync(file, whole.subarray(0, bytes));
      expect(await rowsIn(folder), `${bytes} bytes`).toMatch(/malformed|not a database/);
    }
  });

  it('is found in the background, beside those who write', async () => {
    const { folder, file } = await closedLedger();
    expect(await foundIn(file)).toEqual([]);
    const bytes = readFileSync(file);
    // The last page is one of the ledger or its indexes, and is not needed to open the file.
    bytes.fill(0xff, bytes.length - pageBytes, bytes.length - pageBytes + 8);
    writeFileSync(file, bytes);
    const database = await openIn(folder);
    onTestFinished(() => database.close());
    expect(await foundIn(file)).not.toEqual([]);
  });

  it('is not confused with one that cannot be checked', async () => {
    const unchecked = vi.fn<(reason: string) => void>();
    const check = startFileCheck(join(temporaryFolder(), 'none.db'), {
      onDamage: () => undefined,
      onUnchecked: unchecked,
    });
    await check.ended;
    expect(check.isDamaged()).toBe(false);
    expect(unchecked).toHaveBeenCalledOnce();
  });

  it('is looked for no longer when the service ends', async () => {
    const { file } = await closedLedger(1);
    const told = vi.fn<() => void>();
    const check = startFileCheck(file, { onDamage: told, onUnchecked: told });
    await check.close();
    expect(told).not.toHaveBeenCalled();
  });
});

describe('a copy', () => {
  it('made while rows are written has every row that was durable before, and the books agree', async () => {
    const folder = temporaryFolder();
    const [service, command] = [await openIn(folder), await openIn(folder)];
    onTestFinished(() => Promise.all([service.close(), command.close()]).then(() => undefined));
    const { settle } = await withAccount(service);
    await settle(20, 'before');
    let copying = true;
    let during = 0;
    const load = (async () => {
      for (; copying; during += 1) {
        await settle(1, `during-${during}`);
        await turn();
      }
    })();
    const restored = temporaryFolder();
    const { rows } = (await command.file?.copyTo(join(restored, 'weir.db'))) ?? { rows: 0 };
    copying = false;
    await load;
    expect(rows).toBeGreaterThanOrEqual(20);
    expect(readdirSync(restored)).toEqual(['weir.db']);
    expect(statSync(join(restored, 'weir.db')).mode & 0o777).toBe(0o600);
    expect(await rowsIn(restored)).toBe(rows);
    const copy = await openIn(restored);
    onTestFinished(() => copy.close());
    const { workspaces, spendingDifferences } = await verifyLedger(copy.queries);
    expect(workspaces.map(({ balance, expected, requests }) => [balance === expected, requests])).toEqual([
      [true, rows],
    ]);
    expect(spendingDifferences).toEqual([]);
  });

  it('never takes the place of a file, and leaves nothing behind when it cannot be made', async () => {
    const { folder } = await closedLedger(1);
    const database = await openIn(folder);
    onTestFinished(() => database.close());
    const target = join(temporaryFolder(), 'copy.db');
    writeFileSync(target, 'precious');
    await expect(database.file?.copyTo(target)).rejects.toThrow(`The file ${target} exists`);
    expect(readFileSync(target, 'utf8')).toBe('precious');
    await expect(database.file?.copyTo(join(folder, 'none', 'copy.db'))).rejects.toThrow('ENOENT');
  });

  it('of a damaged database is none', async () => {
    const { folder, file } = await closedLedger();
    const bytes = readFileSync(file);
    bytes.fill(0xff, bytes.length - pageBytes, bytes.length - pageBytes + 8);
    writeFileSync(file, bytes);
    const database = await openIn(folder);
    onTestFinished(() => database.close());
    const target = temporaryFolder();
    await expect(database.file?.copyTo(join(target, 'copy.db'))).rejects.toThrow('The copy is damaged');
    expect([existsSync(join(target, 'copy.db')), readdirSync(target)]).toEqual([false, []]);
  });
});
