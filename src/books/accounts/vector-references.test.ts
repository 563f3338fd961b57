// @suite both-databases
import { expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import type { VectorReference } from '../../core/vector-reference.ts';
import { openDatabase } from '../databases/open-database.ts';
import { listAudit } from './audit.ts';
import {
  acceptVectors,
  keepVectorReference,
  listVectorReferences,
  readVectorReferences,
  retainVectorReferences,
} from './vector-references.ts';

const day = 86_400_000;

function referenceOf(route: string, value: number, more: Partial<VectorReference> = {}) {
  return {
    modelId: 'acme/embed',
    routeId: `acme/embed@${route}`,
    upstreamModel: 'bge',
    texts: 'digest',
    dimensions: 3,
    since: sampleNow,
    vectors: [Float32Array.of(value, -0, 1e-45), Float32Array.of(0.1, 2, 3)],
    ...more,
  };
}

it('keeps the vectors of the first writer, bit for bit, whoever else writes at the same moment', async () => {
  const { queries, location } = await sampleDatabase();
  const other = await openDatabase(location, { missing: 'refuse', user: 'service' });
  try {
    const kept = await Promise.all([
      keepVectorReference(queries, referenceOf('a', 1), undefined),
      keepVectorReference(other.queries, referenceOf('b', 2), undefined),
    ]);
    expect(kept[0]).toEqual(kept[1]);
    const [first] = kept;
    const own = first.routeId.endsWith('@a') ? referenceOf('a', 1) : referenceOf('b', 2);
    expect(first).toEqual({ ...own, isAwaited: false });
    expect(await keepVectorReference(queries, referenceOf('c', 3), undefined)).toEqual(first);
  } finally {
    await other.close();
  }
});

it('reads the vectors of a reference only if it has changed', async () => {
  const { queries } = await sampleDatabase();
  await keepVectorReference(queries, referenceOf('a', 1), undefined);
  const { vectors, ...head } = referenceOf('a', 1);
  const read = (since: number | undefined) =>
    readVectorReferences(
      queries,
      new Map([
        ['acme/embed', since],
        ['acme/none', undefined],
      ]),
    );
  expect(await read(undefined)).toEqual([{ ...head, vectors, isAwaited: false }]);
  expect(await read(sampleNow - 1)).toEqual([{ ...head, vectors, isAwaited: false }]);
  expect(await read(sampleNow)).toEqual([{ ...head, isAwaited: false }]);
  expect(await listVectorReferences(queries)).toEqual([{ ...head, isAwaited: false }]);
});

it('replaces vectors of other texts, and no others', async () => {
  const { queries } = await sampleDatabase();
  await keepVectorReference(queries, referenceOf('a', 1), undefined);
  const same = referenceOf('b', 2, { since: sampleNow + 5 });
  expect((await keepVectorReference(queries, same, sampleNow)).routeId).toBe('acme/embed@a');
  const shorter = { ...same, texts: 'shorter' };
  expect(await keepVectorReference(queries, shorter, sampleNow)).toMatchObject({
    routeId: 'acme/embed@b',
    since: sampleNow + 5,
  });
});

it('awaits the vectors of the route that an operator accepts, with an entry in the audit trail', async () => {
  const { queries } = await sampleDatabase();
  await keepVectorReference(queries, referenceOf('a', 1), undefined);
  const by = { ...sampleAuthor, now: sampleNow + 10 };
  const accepted = await acceptVectors(queries, { modelId: 'acme/embed', route: 'acme/embed@b' }, by);
  expect(accepted).toMatchObject({ routeId: 'acme/embed@b', isAwaited: true, since: sampleNow + 10 });
  expect(await readVectorReferences(queries, new Map([['acme/embed', sampleNow]]))).toEqual([
    { ...accepted, vectors: [] },
  ]);
  // A service that has not seen the decision yet replaces nothing.
  expect(await keepVectorReference(queries, referenceOf('a', 7), sampleNow)).toMatchObject({ isAwaited: true });
  const next = referenceOf('b', 2, { since: sampleNow + 20 });
  expect(await keepVectorReference(queries, next, accepted.since)).toEqual({ ...next, isAwaited: false });
  expect(await listAudit(queries, { action: 'model.accept-vectors' }, 9)).toMatchObject([
    {
      objectId: 'acme/embed',
      before: { route: 'acme/embed@a', since: new Date(sampleNow).toISOString() },
      after: { route: 'acme/embed@b' },
    },
  ]);
});

it('accepts the route of the reference unless another one is named, also in the same millisecond', async () => {
  const { queries } = await sampleDatabase();
  await keepVectorReference(queries, referenceOf('a', 1), undefined);
  const accepted = await acceptVectors(
    queries,
    { modelId: 'acme/embed', route: undefined },
    { ...sampleAuthor, now: sampleNow },
  );
  expect(accepted).toMatchObject({ routeId: 'acme/embed@a', since: sampleNow + 1 });
});

it('refuses to accept vectors of a model without a reference, and of a route of another model', async () => {
  const { queries } = await sampleDatabase();
  await keepVectorReference(queries, referenceOf('a', 1), undefined);
  await expect(acceptVectors(queries, { modelId: 'acme/other', route: undefined }, sampleAuthor)).rejects.toThrow(
    'The model "acme/other" has no reference vectors: no route of it has answered a probe yet.',
  );
  await expect(acceptVectors(queries, { modelId: 'acme/embed', route: 'tei-b' }, sampleAuthor)).rejects.toThrow(
    '"tei-b" is not a route of acme/embed: expected its id, acme/embed@ and the Backend name.',
  );
  for (const name of ['', 'a\0b', 'a b', 'a'.repeat(254)])
    await expect(
      acceptVectors(queries, { modelId: 'acme/embed', route: `acme/embed@${name}` }, sampleAuthor),
    ).rejects.toThrow('is not a route of acme/embed');
  await expect(acceptVectors(queries, { modelId: 'acme/\0', route: undefined }, sampleAuthor)).rejects.toThrow(
    'has no reference vectors',
  );
});

it('drops the references of models that have been in no catalog for a year', async () => {
  const { queries } = await sampleDatabase();
  for (const name of ['kept', 'gone']) {
    const modelId = `acme/${name}`;
    await keepVectorReference(queries, referenceOf('a', 1, { modelId, routeId: `${modelId}@a` }), undefined);
  }
  await retainVectorReferences(queries, ['acme/kept'], sampleNow + 200 * day);
  expect(await listVectorReferences(queries)).toHaveLength(2);
  await retainVectorReferences(queries, ['acme/kept'], sampleNow + 366 * day);
  expect((await listVectorReferences(queries)).map(({ modelId }) => modelId)).toEqual(['acme/kept']);
});
