import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { promiseFiles, promisesOfReadme, sectionsOfContract } from './promises.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

it('every section of the contract has a test with real programs', () => {
  const contract = ['api', 'endpoints'].map((name) => read(`docs/reference/${name}.md`)).join('\n');
  const sections = [...contract.matchAll(/^#{1,4} (\d(?:\.\d+)*)\.? /gm)].map(([, number = '']) => number);
  expect(sections.length).toBeGreaterThan(20);
  // The rules of some sections are all in their parts.
  const leaves = sections.filter((section) => !sections.some((other) => other.startsWith(`${section}.`)));
  expect(Object.keys(sectionsOfContract)).toEqual(expect.arrayContaining(leaves));
  expect(sections).toEqual(expect.arrayContaining(Object.keys(sectionsOfContract)));
});

it('the promises of README.md are in its words', () => {
  const readme = read('README.md').replaceAll(/\s+/g, ' ');
  expect(Object.keys(promisesOfReadme).filter((words) => !readme.includes(words))).toEqual([]);
});

it('names files that there are', () => {
  expect([...promiseFiles].filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
