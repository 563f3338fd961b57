import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { longFiles } from './long-first.ts';

test('the files that begin first are there, each once', () => {
  expect(longFiles.filter((file) => !existsSync(file))).toEqual([]);
  expect(new Set(longFiles).size).toBe(longFiles.length);
});
