import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writtenFiles } from './references.ts';

// A name with two meanings makes each import a question. A type with the same meaning is imported, not declared again.

const root = join(import.meta.dirname, '..', '..');
const exportedType = /^export (?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm;

/** The files of each type name that several files export, from the texts of the files by path. */
function repeatedTypeNames(texts: ReadonlyMap<string, string>): Readonly<Record<string, readonly string[]>> {
  const found = [...texts].flatMap(([path, text]) =>
    [...text.matchAll(exportedType)].map(([, name = '']) => ({ name, path })),
  );
  const repeated = [...Map.groupBy(found, ({ name }) => name)].filter(([, places]) => places.length > 1);
  return Object.fromEntries(repeated.map(([name, places]) => [name, places.map(({ path }) => path)]));
}

it('no two files of src export a type of the same name', () => {
  const sources = writtenFiles(root).filter((path) => path.startsWith('src/') && path.endsWith('.ts'));
  const texts = new Map(sources.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  expect([...texts.values()].filter((text) => text.search(exportedType) !== -1).length).toBeGreaterThan(200);
  expect(repeatedTypeNames(texts)).toEqual({});
});

it.each([
  [
    'an interface and a type',
    'export interface Key {\n  readonly id: string;\n}',
    'export type Key = string;',
    ['Key'],
  ],
  ['a class and a type', 'export class Refusal extends Error {}', 'export type Refusal = string;', ['Refusal']],
  ['two abstract classes', 'export abstract class Base {}', 'export abstract class Base {}', ['Base']],
  ['a type of the file itself', 'export interface Key {}', 'interface Key {}', []],
  ['a longer name', 'export interface Key {}', 'export interface KeyObject {}', []],
  ['a type that is exported again', 'export interface Key {}', "export type { Key } from './a.ts';", []],
])('finds a repeated name, and no other: %s', (_, one, other, names) => {
  const texts = new Map([
    ['src/a.ts', one],
    ['src/b.ts', other],
  ]);
  expect(repeatedTypeNames(texts)).toEqual(Object.fromEntries(names.map((name) => [name, ['src/a.ts', 'src/b.ts']])));
});
