import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/sample-database.ts';
import { takeJournalFolder } from './journal-folder.ts';

function setUp() {
  const root = join(temporaryFolder(), 'journal');
  const held = new Set<string>();
  const tryLock = (path: string) => {
    if (held.has(path)) return undefined;
    held.add(path);
    return { release: () => void held.delete(path) };
  };
  return { root, take: () => takeJournalFolder(root, tryLock) };
}

it('gives each process a folder of its own, for its owner alone, and a free one again', () => {
  const { root, take } = setUp();
  const [first, second] = [take(), take()];
  expect([first.folder, second.folder]).toEqual([join(root, '0'), join(root, '1')]);
  expect(statSync(first.folder).mode & 0o777).toBe(0o700);
  first.release();
  expect(take().folder).toBe(first.folder);
});

it('adopts the files of those that are gone, and not of those that run', () => {
  const { root, take } = setUp();
  const [own, running] = [take(), take()];
  mkdirSync(join(root, '2'));
  const files = [join(running.folder, 'b.journal'), join(root, '2', 'c.journal'), join(root, '2', 'd.refused')];
  for (const file of files) writeFileSync(file, 'x');
  own.release();
  const again = take();
  expect(readdirSync(again.folder)).toEqual(['c.journal']);
  expect(readdirSync(running.folder)).toEqual(['b.journal']);
  expect(readdirSync(join(root, '2'))).toEqual(['d.refused']);
});
