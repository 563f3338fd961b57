import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Cluster } from '../../../core/catalog.ts';
import { type ClustersFile, isReached, openClustersFile } from './clusters-file.ts';

let folder: string;
let now: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-clusters-'));
  now = 1_000;
});
afterEach(() => rmSync(folder, { recursive: true }));

const named = (...names: readonly string[]): readonly Cluster[] => names.map((name) => ({ name }) as Cluster);
const clustersFile = (): string => join(folder, 'clusters', 'clusters.json');

interface Content {
  readonly version_info: string;
  readonly resources: readonly { readonly name: string; readonly by?: string }[];
}
const read = (): Content => JSON.parse(readFileSync(clustersFile(), 'utf8')) as Content;
const namesIn = (): readonly string[] => read().resources.map(({ name }) => name);

let turn: Promise<unknown> = Promise.resolve();

/** The file as one of several services writes it, or the only one. */
async function open(name?: string): Promise<ClustersFile> {
  const file = openClustersFile({
    clustersFolder: join(folder, 'clusters'),
    clustersFile: clustersFile(),
    now: () => now,
    render: (clusters, version) => ({
      version_info: version,
      resources: clusters.map((cluster) => ({ name: cluster.name, by: name ?? null })),
    }),
    shared:
      name === undefined
        ? undefined
        : {
            ...{ partsFolder: join(folder, 'parts'), name },
            exclusively: (run) => {
              const result = turn.then(run);
              turn = result;
              return result;
            },
          },
  });
  await file.prepare();
  return file;
}

it('of a service that is alone has its clusters and no others', async () => {
  const file = await open();
  expect(read()).toEqual({ version_info: 'none', resources: [] });
  await file.replace(named('a', 'b'));
  await file.replace(named('b'));
  expect(namesIn()).toEqual(['b']);
});

it('of several has the clusters that any of them needs, whichever writes it', async () => {
  const [one, two] = [await open('1'), await open('2')];
  await one.replace(named('a', 'b'));
  await two.replace(named('b', 'c'));
  expect(namesIn().toSorted()).toEqual(['a', 'b', 'c']);
  await one.replace(named('b'));
  expect(namesIn().toSorted()).toEqual(['b', 'c']);
  await Promise.all([one.replace(named()), two.replace(named('d'))]);
  expect(namesIn()).toEqual(['d']);
});

it('keeps what a service needs while that one is started again', async () => {
  const [one, two] = [await open('1'), await open('2')];
  await one.replace(named('a'));
  await two.replace(named('b'));
  const again = await open('2');
  await one.replace(named('a', 'c'));
  expect(namesIn().toSorted()).toEqual(['a', 'b', 'c']);
  await again.replace(named('c'));
  expect(namesIn().toSorted()).toEqual(['a', 'c']);
});

it('has a later version with each writing, by the clock or without it, also of the next process', async () => {
  const [one, two] = [await open('1'), await open('2')];
  const versions = [await one.replace(named('a')), await two.replace(named('a'))];
  now = 5;
  versions.push(await one.replace(named('a')), await (await open('1')).replace(named('a')));
  versions.push(await (await open()).replace(named('a')));
  for (const [index, version] of versions.entries()) {
    for (const other of versions.slice(index)) expect(isReached(version, other)).toBe(true);
    for (const other of versions.slice(0, index)) expect(isReached(version, other)).toBe(false);
    expect(isReached(version, 'none')).toBe(false);
  }
});
