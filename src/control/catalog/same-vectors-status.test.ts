import { describe, expect, it } from 'vitest';
import { backend, goodModelSpec, model } from '../../../test/support/catalog-objects.ts';
import { observedCatalog } from '../../../test/support/observed.ts';
import type { CatalogObject, KubeObject } from '../../core/catalog.ts';
import type { VectorsFault } from '../../core/observed-catalog.ts';
import { compile } from './compile.ts';
import { objectStatuses } from './object-status.ts';

const now = Date.parse('2026-06-01T00:00:00Z');
const backends = [backend('tei-a'), backend('tei-b')];
const embed = model('embed', {
  ...{ kind: 'Embedding', id: 'baai/bge-m3', embedding: { dimensions: 1024 } },
  routes: [
    { backend: 'tei-a', upstreamModel: 'bge-m3' },
    { backend: 'tei-b', upstreamModel: 'bge-m3' },
  ],
});

interface Seen {
  readonly vectors?: Readonly<Record<string, VectorsFault>>;
  /** Routes that get no requests. */
  readonly out?: readonly string[];
}

const idOf = (name: string): string => `baai/bge-m3@${name}`;

/** The conditions of the model in one line each, as replicas see it. */
function conditionsOf(replicas: readonly Seen[], declared = embed): Readonly<Record<string, string>> {
  const compilation = compile([...backends, declared]);
  expect(compilation.problems).toEqual([]);
  const observed = replicas.map(({ vectors = {}, out = [] }, index) =>
    observedCatalog(compilation.snapshot.clusters, {
      name: `weir-${index}`,
      vectors: new Map(Object.entries(vectors).map(([name, fault]) => [idOf(name), fault])),
      out: new Set(out.map(idOf)),
      unlisted: new Set(out.length === 2 ? ['baai/bge-m3'] : []),
    }),
  );
  const objectOf = (kind: KubeObject['kind'], name: string, of: CatalogObject): KubeObject => ({
    ...{ kind, name, uid: name, generation: 1, resourceVersion: '1' },
    ...{ finalizers: [], annotations: {}, status: undefined, declared: of },
  });
  const object = objectOf('Model', 'embed', declared);
  const backendObjects = backends.map((of) => objectOf('Backend', of.where.replace('Backend/', ''), of));
  const statuses = [...objectStatuses([object, ...backendObjects], { compilation, replicas: observed, now })];
  for (const { after } of statuses.slice(1)) {
    // Other vectors are no fault of a Backend.
    expect(after.find(({ type }) => type === 'Healthy')?.status).not.toBe('False');
  }
  const [status] = statuses;
  return Object.fromEntries(
    (status?.after ?? []).map((one) => [one.type, `${one.status} ${one.reason}: ${one.message}`]),
  );
}

const differs: VectorsFault = {
  kind: 'differs',
  isWhole: true,
  text: 'other vectors, endpoint 10.0.0.7:80: lowest cosine 0.7313',
};
const changed: VectorsFault = {
  kind: 'changed',
  isWhole: true,
  text: 'other vectors than before, endpoint 10.0.0.6:80',
};
const unprobed: VectorsFault = { kind: 'unprobed', isWhole: true, text: 'not probed yet: it refuses connections' };

describe('the condition SameVectors', () => {
  it('is true if no replica has found anything, and a chat model has none', () => {
    expect(conditionsOf([{}, {}])).toMatchObject({ SameVectors: 'True SameVectors: ', Servable: 'True RoutesReady: ' });
    const chat = model('chat', { routes: [{ ...goodModelSpec.routes[0], backend: 'tei-a' }] });
    expect(Object.keys(conditionsOf([{}], chat))).toEqual(['Accepted', 'Servable', 'Priced', 'Listed', 'Retiring']);
  });

  it('names the route, and the model serves with the others', () => {
    expect(conditionsOf([{}, { vectors: { 'tei-b': differs }, out: ['tei-b'] }])).toMatchObject({
      SameVectors: `False OtherVectors: spec.routes[1].backend: "tei-b": ${differs.text}`,
      Servable: `True SomeRoutesReady: spec.routes[1].backend: "tei-b": ${differs.text}`,
    });
  });

  it('is false for one endpoint of a route that still serves', () => {
    const part = { ...differs, isWhole: false };
    expect(conditionsOf([{ vectors: { 'tei-b': part } }])).toMatchObject({
      SameVectors: `False OtherVectors: spec.routes[1].backend: "tei-b": ${differs.text}`,
      Servable: 'True RoutesReady: ',
    });
  });

  it('says what to do when the vectors of the reference have changed, and that nothing serves', () => {
    const all = { vectors: { 'tei-a': changed, 'tei-b': differs }, out: ['tei-a', 'tei-b'] };
    const conditions = conditionsOf([all]);
    expect(conditions['SameVectors']).toBe(
      `False VectorsChanged: spec.routes[0].backend: "tei-a": ${changed.text}; spec.routes[1].backend: "tei-b": ` +
        `${differs.text}; \`weir model accept-vectors baai/bge-m3\` takes them as the reference, for search indexes that you rebuild`,
    );
    expect(conditions['Servable']).toMatch(/^False NoRouteReady: .*tei-a.*; .*tei-b/);
  });

  it('is unknown until a route was probed, unless another one differs', () => {
    expect(conditionsOf([{ vectors: { 'tei-a': unprobed }, out: ['tei-a'] }])).toMatchObject({
      SameVectors: `Unknown NotProbed: spec.routes[0].backend: "tei-a": ${unprobed.text}`,
    });
    expect(conditionsOf([{ vectors: { 'tei-a': unprobed, 'tei-b': differs } }])['SameVectors']).toMatch(
      /^False OtherVectors: spec\.routes\[1\]/,
    );
  });

  it('takes the worst of what replicas have found', () => {
    const [one, other] = [{ vectors: { 'tei-a': unprobed } }, { vectors: { 'tei-a': differs } }];
    expect(conditionsOf([one, other])['SameVectors']).toMatch(/^False OtherVectors/);
    expect(conditionsOf([other, one])['SameVectors']).toMatch(/^False OtherVectors/);
  });
});
