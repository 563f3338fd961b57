import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test/support/sample-database.ts';
import { rowFilesIn, takeJournalFolder } from './folder.ts';

/** As the journal names its files. */
const name = '001790000000000-000001-0a1b2c3d';

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
  const [left, kept] = [`${name}.journal`, `${name}.refused`];
  const files = [join(running.folder, left), join(root, '2', left), join(root, '2', kept)];
  for (const file of files) writeFileSync(file, 'x');
  own.release();
  const again = take();
  expect(readdirSync(again.folder)).toEqual([left]);
  expect(readdirSync(running.folder)).toEqual([left]);
  expect(readdirSync(join(root, '2'))).toEqual([kept]);
  expect(again.foreignFiles).toEqual([]);
});

it('leaves alone what others have put there, names it, and adopts the rest', () => {
  const { root, take } = setUp();
  const journal = `${name}.journal`;
  const folderOfThatName = join('0', journal.replace('-000001-', '-000002-'));
  const [own, other] = [join(root, '0'), join(root, '7')];
  for (const folder of [own, other, join(root, 'old'), join(root, '12 copy'), join(root, folderOfThatName)]) {
    mkdirSync(folder, { recursive: true });
  }
  writeFileSync(join(other, journal), 'rows');
  const others = [
    ...[join(root, '.DS_Store'), join(root, '3'), join(root, 'notes.journal'), join(other, `._${journal}`)],
    ...[join(other, `${journal}~`), join(other, `.${journal}.swp`), join(own, 'x.journal'), join(own, '4913')],
  ];
  for (const path of others) writeFileSync(path, 'not rows');
  symlinkSync('somebody@host.123', join(own, `.#${journal}`));
  mkdirSync(join(other, `0${journal}`));
  const taken = take();
  expect(taken.folder).toBe(own);
  expect(new Set(taken.foreignFiles)).toEqual(
    new Set([
      ...others,
      ...[join(root, 'old'), join(root, '12 copy'), join(root, folderOfThatName)],
      ...[join(own, `.#${journal}`), join(other, `0${journal}`)],
    ]),
  );
  expect(rowFilesIn(own)).toEqual([journal]);
  expect(readFileSync(join(own, journal), 'utf8')).toBe('rows');
  expect(readdirSync(other)).not.toContain(journal);
});

it('passes over a file that has the place of a folder', () => {
  const { root, take } = setUp();
  mkdirSync(root);
  writeFileSync(join(root, '0'), 'not a folder');
  expect(take()).toMatchObject({ folder: join(root, '1'), foreignFiles: [join(root, '0')] });
});
