import { expect, test } from 'vitest';
import { backend, model } from '../../../test/support/catalog-objects.ts';
import type { Cluster, Model } from '../../core/catalog.ts';
import { type CatalogReading, followCatalog } from './follow-catalog.ts';

const reading = (...ids: readonly string[]) => ({
  objects: [backend('vllm-a'), ...ids.map((id) => model(id.replace('/', '-'), { id }))],
  problems: [],
});

function begin(unlisted: readonly string[]) {
  let elapsed = 0;
  const catalog = followCatalog({
    first: reading('a/a', 'b/b'),
    previous: undefined,
    pods: 'followed',
    followEndpoints: () => Promise.resolve(),
    applyClusters: () => Promise.resolve(),
    ...{ onProblems: () => undefined, onCompiled: () => undefined, onSwap: () => undefined },
    onError: (error) => expect.unreachable(String(error)),
    listing: {
      clock: { elapsed: () => elapsed },
      searchPrice: undefined,
      statusOf: ({ id }: Model) => ({ listed: !unlisted.includes(id) }),
    },
  });
  const listed = (): readonly string[] =>
    (JSON.parse(catalog.modelList(undefined)) as { data: readonly { id: string }[] }).data.map(({ id }) => id);
  return { catalog, listed, wait: (ms: number) => (elapsed += ms) };
}

test('the list follows the catalog at once and the status of its models within a second', async () => {
  const unlisted: string[] = [];
  const { catalog, listed, wait } = begin(unlisted);
  expect(listed()).toEqual(['a/a', 'b/b']);
  unlisted.push('a/a');
  expect(listed()).toEqual(['a/a', 'b/b']);
  wait(1000);
  expect(listed()).toEqual(['b/b']);
  catalog.change(reading('a/a', 'c/c'));
  await catalog.idle();
  expect(listed()).toEqual(['c/c']);
  await catalog.close();
});

test('a model that is not listed is in the catalog all the same', async () => {
  const { catalog, listed } = begin(['a/a']);
  expect(listed()).toEqual(['b/b']);
  expect(catalog.snapshots.hold().snapshot.models.has('a/a')).toBe(true);
  await catalog.close();
});

test('other hosts of a cluster are followed before the snapshot is served, and make no work for Envoy', async () => {
  const steps: string[] = [];
  const at = (port: number): CatalogReading => ({
    objects: [backend('vllm-a', { endpoint: { host: '127.0.0.1', port } }), model('a', { id: 'a/a' })],
    problems: [],
  });
  const portsOf = (clusters: readonly Cluster[]): string =>
    clusters
      .flatMap(({ endpoints }) => (endpoints.kind === 'hosts' ? endpoints.hosts : []))
      .map(({ port }) => port)
      .join();
  const catalog = followCatalog({
    first: at(1),
    previous: undefined,
    pods: 'followed',
    followEndpoints: (clusters) => Promise.resolve(void steps.push(`follow ${portsOf(clusters)}`)),
    applyClusters: () => Promise.resolve(void steps.push('publish')),
    onSwap: () => steps.push('swap'),
    ...{ onProblems: () => undefined, onCompiled: () => undefined },
    onError: (error) => expect.unreachable(String(error)),
    listing: { clock: { elapsed: () => 0 }, searchPrice: undefined, statusOf: () => ({ listed: true }) },
  });
  await catalog.published;
  catalog.change(at(2));
  await catalog.idle();
  expect(steps).toEqual(['follow 1', 'publish', 'follow 2', 'swap', 'follow 2']);
  await catalog.close();
});

test.each<[string, object]>([
  ['a price', { pricing: { prompt: '0.0001', completion: '0.0006' } }],
  ['a window', { contextLength: 8_192 }],
  ['an alias', { aliases: ['a/other'] }],
  ['the name of the model at its engine', { routes: [{ backend: 'vllm-a', upstreamModel: 'other' }] }],
  ['the end of hedging', { hedging: { mode: 'Disabled' } }],
])('%s that changes is served at once, although Envoy has the same clusters', async (_, changed) => {
  const { catalog } = begin([]);
  const before = catalog.snapshots.current();
  const objects = [backend('vllm-a'), model('a-a', { id: 'a/a', ...changed })];
  catalog.change({ objects, problems: [] });
  await catalog.idle();
  const after = catalog.snapshots.current();
  expect(after.clusters.map(({ name }) => name)).toEqual(before.clusters.map(({ name }) => name));
  expect(after.models.get('a/a')).not.toEqual(before.models.get('a/a'));
  await catalog.close();
});
