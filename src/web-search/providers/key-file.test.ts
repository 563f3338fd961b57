import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { keyFile, readApiKey } from './open-search.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-key-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('reads a key without the blanks around it, and again when the file changes', async () => {
  const path = join(folder, 'key');
  const file = keyFile(path, readApiKey);
  await expect(file.read()).rejects.toThrow('ENOENT');
  await writeFile(path, '  one\n');
  expect(await file.read()).toBe('one');
  await writeFile(path, 'another');
  expect(await file.read()).toBe('another');
});

it('keeps the key it has while the file is away or no key', async () => {
  const path = join(folder, 'key');
  const file = keyFile(path, readApiKey);
  await writeFile(path, 'one');
  await file.read();
  await writeFile(path, 'two words');
  expect(await file.read()).toBe('one');
  await rm(path);
  expect(await file.read()).toBe('one');
});

it.each(['', '  \n', 'two words', 'ünicode', 'x'.repeat(5000)])('takes %j for no key', (text) => {
  expect(() => readApiKey(text)).toThrow('expected one line with the key');
});
