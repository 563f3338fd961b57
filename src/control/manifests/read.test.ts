import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type CheckObject, readManifests, settleFile } from './read.ts';
import type { CatalogObject } from '../../core/catalog.ts';
import type { ManifestEntry } from './parse.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'weir-manifests-'));
});
afterEach(() => rm(dir, { recursive: true }));

async function places(): Promise<readonly string[]> {
  const { objects, problems } = await readManifests(dir);
  expect(problems).toEqual([]);
  return objects.map(({ where }) => where);
}

test('reads YAML and JSON of the folder and its sub-folders, in the order of their paths', async () => {
  await mkdir(join(dir, 'deep/er'), { recursive: true });
  for (const name of ['b.yml', 'a.yaml', 'c.json', 'deep/er/d.yaml']) await writeFile(join(dir, name), '{"kind": "A"}');
  for (const name of ['README.md', 'x.yaml.bak', '.hidden.yaml', 'yaml']) await writeFile(join(dir, name), ': : :');
  expect(await places()).toEqual(['a.yaml', 'b.yml', 'c.json', 'deep/er/d.yaml']);
});

test('reads a mounted ConfigMap once, through its links', async () => {
  await mkdir(join(dir, '..2026_01'));
  await writeFile(join(dir, '..2026_01/a.yaml'), 'kind: A');
  await symlink('..2026_01', join(dir, '..data'));
  await symlink('..data/a.yaml', join(dir, 'a.yaml'));
  expect(await places()).toEqual(['a.yaml']);
});

test('does not follow a link in a circle', async () => {
  await writeFile(join(dir, 'a.yaml'), 'kind: A');
  await symlink('.', join(dir, 'again'));
  expect(await places()).toEqual(['a.yaml']);
});

test('has no objects and no problems in an empty folder', async () => {
  expect(await readManifests(dir)).toEqual({ objects: [], problems: [] });
});

test('names a folder that is not there', async () => {
  const missing = join(dir, 'missing');
  expect(await readManifests(missing)).toEqual({
    objects: [],
    problems: [{ where: missing, field: '', message: 'expected a readable folder' }],
  });
});

test('names what cannot be read, and reads the rest', async () => {
  await writeFile(join(dir, 'good.yaml'), 'kind: A');
  await symlink('nowhere', join(dir, 'lost.yaml'));
  await writeFile(join(dir, 'latin.yaml'), Buffer.from([0x61, 0x3a, 0x20, 0xe9]));
  await writeFile(join(dir, 'large.yaml'), `a: ${'x'.repeat(4 * 1024 * 1024)}`);
  const { objects, problems } = await readManifests(dir);
  expect(objects.map(({ where }) => where)).toEqual(['good.yaml']);
  expect(problems.map(({ where, message }) => [where, message])).toEqual([
    ['lost.yaml', 'expected something readable: check its permissions and where it links to'],
    ['large.yaml', 'expected at most 4194304 bytes, split the file'],
    ['latin.yaml', 'expected text in UTF-8'],
  ]);
});

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
