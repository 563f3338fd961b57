import { expect, test } from 'vitest';
import type { CatalogObject } from '../core/catalog.ts';
import type { ManifestEntry } from './parse.ts';
import { type CheckObject, settleFile } from './settle-file.ts';

interface Given {
  readonly kind?: string;
  readonly name?: string;
  readonly version: string;
  readonly bad?: true;
}

function object({ kind, name, ...rest }: Given): CatalogObject {
  return { where: 'f.yaml', value: { kind, metadata: { name }, ...rest } };
}

const check: CheckObject = ({ where, value }) =>
  Reflect.has(value as object, 'bad') ? [{ where, field: 'bad', message: 'bad' }] : [];

const syntaxError: ManifestEntry = { kind: 'broken', problem: { where: 'f.yaml', field: '', message: 'syntax' } };

function entries(given: readonly (Given | 'syntax')[]): readonly ManifestEntry[] {
  return given.map((one) => (one === 'syntax' ? syntaxError : { kind: 'object', object: object(one) }));
}

const versions = (objects: readonly CatalogObject[]): readonly unknown[] =>
  objects.map(({ value }) => Reflect.get(value as object, 'version'));

const a1: Given = { kind: 'M', name: 'a', version: 'a1' };
const a2: Given = { ...a1, version: 'a2' };
const b1: Given = { kind: 'M', name: 'b', version: 'b1' };
const bad = (given: Given): Given => ({ ...given, version: `${given.version} bad`, bad: true });

test.each<
  [string, readonly Given[], readonly (Given | 'syntax')[], readonly string[], readonly string[], readonly string[]]
>([
  // about, last good, new text, objects handed out, kept for later, problems
  ['takes a good file as it is', [a1, b1], [a2], ['a2'], ['a2'], []],
  ['keeps the last good version of a broken object', [a1, b1], [bad(a2), b1], ['b1', 'a1'], ['b1', 'a1'], ['bad']],
  ['takes a good object beside a broken one', [a1, b1], [a2, bad(b1)], ['a2', 'b1'], ['a2', 'b1'], ['bad']],
  ['keeps all that the text cannot tell any more', [a1, b1], ['syntax'], ['a1', 'b1'], ['a1', 'b1'], ['syntax']],
  ['takes the good documents around a syntax error', [a1, b1], [a2, 'syntax'], ['a2', 'b1'], ['a2', 'b1'], ['syntax']],
  ['keeps an object whose broken text lost its name', [a1], [bad({ version: 'a2' })], ['a1'], ['a1'], ['bad']],
  ['passes on a broken object that replaces nothing', [a1], [a1, bad(b1)], ['a1', 'b1 bad'], ['a1'], []],
  ['passes on what is broken from the start', [], [bad(a1), b1], ['b1', 'a1 bad'], ['b1'], []],
  ['has nothing of a file broken from the start', [], ['syntax'], [], [], ['syntax']],
  ['removes what a good file does not have any more', [a1, b1], [b1], ['b1'], ['b1'], []],
])('%s', (_about, last, text, objects, kept, problems) => {
  const settled = settleFile(entries(text), { last: last.map(object), check });
  expect(versions(settled.objects)).toEqual(objects);
  expect(versions(settled.good)).toEqual(kept);
  expect(settled.problems.map(({ message }) => message)).toEqual(problems);
});
