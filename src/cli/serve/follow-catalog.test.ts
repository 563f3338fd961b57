import { expect, test } from 'vitest';
import { backend, model } from '../../../test/support/catalog-objects.ts';
import type { Model } from '../../core/catalog.ts';
import { followCatalog } from './follow-catalog.ts';

const reading = (...ids: readonly string[]) => ({
  objects: [backend('vllm-a'), ...ids.map((id) => model(id.replace('/', '-'), { id }))],
  problems: [],
});

function begin(unlisted: readonly string[]) {
  let elapsed = 0;
  const swapped = Promise.withResolvers<void>();
  const catalog = followCatalog({
    first: reading('a/a', 'b/b'),
    previous: undefined,
    services: 'followed',
    followEndpoints: () => Promise.resolve(),
    applyClusters: () => Promise.resolve(),
    ...{ onProblems: () => undefined, onCompiled: () => undefined, onSwap: () => swapped.resolve() },
    onError: (error) => expect.unreachable(String(error)),
    listing: {
      clock: { elapsed: () => elapsed },
      searchPrice: undefined,
      statusOf: ({ id }: Model) => ({ listed: !unlisted.includes(id) }),
    },
  });
  const listed = (): readonly string[] =>
    (JSON.parse(catalog.modelList(undefined)) as { data: readonly { id: string }[] }).data.map(({ id }) => id);
  return { catalog, listed, swapped: swapped.promise, wait: (ms: number) => (elapsed += ms) };
}

test('the list follows the catalog at once and the status of its models within a second', async () => {
  const unlisted: string[] = [];
  const { catalog, listed, swapped, wait } = begin(unlisted);
  expect(listed()).toEqual(['a/a', 'b/b']);
  unlisted.push('a/a');
  expect(listed()).toEqual(['a/a', 'b/b']);
  wait(1000);
  expect(listed()).toEqual(['b/b']);
  catalog.change(reading('a/a', 'c/c'));
  await swapped;
  expect(listed()).toEqual(['c/c']);
  await catalog.close();
});

test('a model that is not listed is in the catalog all the same', async () => {
  const { catalog, listed } = begin(['a/a']);
  expect(listed()).toEqual(['b/b']);
  expect(catalog.snapshots.hold().snapshot.models.has('a/a')).toBe(true);
  await catalog.close();
});
