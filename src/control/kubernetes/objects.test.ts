import { expect, it } from 'vitest';
import { createObjectWriter, cutName, readKubeObject } from './objects.ts';

const metadata = { name: 'a', namespace: 'team', uid: 'u', generation: 1, resourceVersion: '7' };
const strangers = [...Array(1_000).keys()].map((index) => `stranger.example/${index}`);

const read = (raw: object) => readKubeObject({ kind: 'ApiKey', namespace: 'team' }, raw, new Map());

it('keeps a bounded part of the metadata of an object', () => {
  const annotations = Object.fromEntries(strangers.map((_, index) => [`weir.dev/x-${index}`, 'x'.repeat(2_000)]));
  const finalizers = [...strangers, 'weir.dev/accounts'];
  const object = read({ metadata: { ...metadata, annotations, finalizers } });
  expect(JSON.stringify(object).length).toBeLessThan(16 * 300 + 32 * 317);
  expect(object.finalizers).toContain('weir.dev/accounts');
  // The twin: what is no more than usual is kept whole.
  const usual = { annotations: { 'weir.dev/managed': 'false', other: 'x' }, finalizers: ['b.example/c'] };
  expect(read({ metadata: { ...metadata, ...usual } })).toMatchObject({
    annotations: { 'weir.dev/managed': 'false' },
    finalizers: ['b.example/c'],
  });
});

it('writes the finalizers of strangers that it does not keep', async () => {
  const written: unknown[] = [];
  const client = {
    objects: {
      getNamespacedCustomObject: () => Promise.resolve({ metadata: { ...metadata, finalizers: strangers } }),
      patchNamespacedCustomObject: ({ body }: { readonly body: unknown }) => Promise.resolve(written.push(body)),
    },
  };
  const writer = createObjectWriter(client as unknown as Parameters<typeof createObjectWriter>[0], 'team');
  const object = read({ metadata: { ...metadata, finalizers: strangers } });
  await writer.finalizers(object, [...object.finalizers, 'weir.dev/accounts']);
  const finalizers = [...strangers, 'weir.dev/accounts'];
  expect(written).toEqual([{ metadata: { resourceVersion: '7', finalizers } }]);
});

it.each([
  ['a-name', 63, 'a-name'],
  [`${'a'.repeat(62)}-b`, 63, 'a'.repeat(62)],
  [`${'a'.repeat(61)}-.b`, 63, 'a'.repeat(61)],
])('cuts %s at a sign with which it may end', (name, maxLength, cut) => {
  expect(cutName(name, maxLength)).toBe(cut);
});
