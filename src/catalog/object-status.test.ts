import { describe, expect, it } from 'vitest';
import { backend, goodModelSpec, model } from '../../test/support/catalog-objects.ts';
import type { CatalogObject, KubeObject } from '../core/catalog.ts';
import { clusterMark, type ReplicaView } from '../core/replica.ts';
import { compile } from './compile.ts';
import { objectStatuses } from './object-status.ts';

const now = Date.parse('2026-06-01T00:00:00Z');

function kubeObject(declared: CatalogObject, changes: Partial<KubeObject> = {}): KubeObject {
  const [kind = '', name = ''] = declared.where.split('/');
  return {
    ...{ kind: kind === 'Model' ? 'Model' : 'Backend', name, uid: declared.where, generation: 1, resourceVersion: '1' },
    ...{ finalizers: [], annotations: {}, status: undefined, declared },
    ...changes,
  };
}

/** Conditions by type, in one line each, of the objects as a cluster without admission would let them through. */
function conditionsOf(objects: readonly CatalogObject[], of: string, before: readonly CatalogObject[] = objects) {
  const previous = compile(before).snapshot;
  const compilation = compile(objects, { previous });
  const replica: ReplicaView = {
    ...{ name: 'weir-0', hasEnvoy: true, refused: new Map(), unreachable: new Map() },
    clusters: new Set(compilation.snapshot.clusters.map(({ name }) => clusterMark(name))),
    ...{ out: new Set(), unlisted: new Set() },
  };
  const kubeObjects = objects.map((object) => kubeObject(object));
  const statuses = [...objectStatuses(kubeObjects, { compilation, replicas: [replica], now })];
  const found = statuses.find(({ object }) => object.declared.where === of);
  return Object.fromEntries(
    (found?.after ?? []).map((one) => [one.type, `${one.status} ${one.reason}: ${one.message}`]),
  );
}

const good = [backend('vllm-a'), model('a')];

describe('what the API server would not have let through', () => {
  it('names the field at fault, and that nothing serves', () => {
    const conditions = conditionsOf([backend('vllm-a'), model('a', { contextLength: 0 })], 'Model/a');
    expect(conditions).toMatchObject({
      Accepted: 'False Invalid: spec.contextLength: expected at least 1',
      Servable: 'False NotAccepted: nothing of it serves until it is accepted',
      Listed: expect.stringMatching(/^False NotInCatalog/) as string,
    });
  });

  it('says that the last good version serves', () => {
    const conditions = conditionsOf([backend('vllm-a'), model('a', { contextLength: 0 })], 'Model/a', good);
    expect(conditions['Accepted']).toBe('False Invalid: spec.contextLength: expected at least 1');
    expect(conditions['Servable']).toMatch(/^True LastGoodServes: .*spec\.contextLength/);
    expect(conditions['Listed']).toBe('True Listed: ');
  });

  it('tells a fault in the prices from the others, and what is charged meanwhile', () => {
    const pricing = { ...goodModelSpec.pricing, prompt: 'free' };
    const alone = conditionsOf([backend('vllm-a'), model('a', { pricing })], 'Model/a');
    expect(alone['Priced']).toMatch(/^False Invalid: spec\.pricing\.prompt: expected USD per token/);
    const before = conditionsOf([backend('vllm-a'), model('a', { pricing })], 'Model/a', good);
    expect(before['Priced']).toMatch(/charged as before: USD per token: prompt 0\.00000015/);
  });

  it('leaves out a route that is at fault by itself', () => {
    const routes = [...goodModelSpec.routes, { backend: 'vllm-b', upstreamModel: 'm', weight: 0 }];
    const conditions = conditionsOf([backend('vllm-a'), backend('vllm-b'), model('a', { routes })], 'Model/a');
    expect(conditions['Accepted']).toBe('True SomeRoutesRefused: spec.routes[1].weight: expected at least 1');
    expect(conditions['Servable']).toBe('True RoutesReady: ');
  });

  it('names the field of a Backend', () => {
    const conditions = conditionsOf([backend('vllm-a', { engine: 'abacus' })], 'Backend/vllm-a');
    expect(conditions['Accepted']).toMatch(/^False Invalid: spec\.engine: expected one of/);
    expect(conditions['Programmed']).toMatch(/^False NotAccepted/);
  });
});

it('keeps the time of a condition whose message alone has changed, and writes nothing that is written', () => {
  const compilation = compile(good);
  const facts = { compilation, replicas: [], now };
  const [first] = objectStatuses([kubeObject(good[1]!)], facts);
  expect(first?.differs).toBe(true);
  const written = kubeObject(good[1]!, { status: first?.status });
  const [again] = objectStatuses([written], { ...facts, now: now + 60_000 });
  expect(again?.differs).toBe(false);
  expect(again?.after).toEqual(first?.after);
});

it('computes no status for an object that has changed since the catalog was compiled', () => {
  const newer = kubeObject(model('a', { contextLength: 7 }), { generation: 2 });
  expect([...objectStatuses([newer], { compilation: compile(good), replicas: [], now })]).toEqual([]);
});
