import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readManifests } from './read.ts';

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
