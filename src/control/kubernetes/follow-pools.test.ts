import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import type { FoundEndpoints, InferencePoolSource } from '../../core/endpoint.ts';
import { ApiError, type KubeClient, type KubeWatch } from './client.ts';
import type { EndpointsBySource } from './follow-on-demand.ts';
import { followPools } from './follow-pools.ts';

const source = (pool: string): InferencePoolSource => ({ kind: 'inference-pool', pool });
const poolOf = (name: string, app: string, version = 1) => ({
  metadata: { name, resourceVersion: String(version) },
  spec: { selector: { matchLabels: { app } }, targetPorts: [{ number: 8000 }] },
});
const podOf = (name: string, podIP: string, isReady = true) => ({
  metadata: { name, resourceVersion: '1' },
  status: { podIP, conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
});
const notFound = new ApiError(404, { reason: '', message: '404 page not found' });
const forbidden = new ApiError(403, { reason: 'Forbidden', message: 'pods is forbidden' });

type Answer = readonly object[] | Error;

/** An API server whose lists and events a test decides. `pods` by their selector; what is not there is an empty list. */
function begin(lists: { pools: Answer; pods?: Readonly<Record<string, Answer>> }, kept?: EndpointsBySource) {
  const clock = createFakeClock();
  const calls: string[] = [];
  const watches = new Map<string, (type: string, object: object) => void>();
  const state = { pods: {} as Readonly<Record<string, Answer>>, ...lists };
  const list = async (of: string, answer: Answer): Promise<object> => {
    calls.push(`list ${of}`);
    if (answer instanceof Error) throw answer;
    return { metadata: { resourceVersion: '5' }, items: answer };
  };
  const subjectOf = (path: string): string => {
    const { pathname, searchParams } = new URL(path, 'http://api');
    return pathname.endsWith('/pods') ? (searchParams.get('labelSelector') ?? 'every pod') : 'pools';
  };
  const client: Pick<KubeClient, 'list' | 'watch'> = {
    list: (path) => {
      const of = subjectOf(path);
      return list(of, of === 'pools' ? state.pools : (state.pods[of] ?? []));
    },
    watch: (path: string, { signal, onOpen, onLine }: KubeWatch) =>
      new Promise<void>((resolve) => {
        const of = subjectOf(path);
        calls.push(`watch ${of}`);
        watches.set(of, (type, object) => onLine(JSON.stringify({ type, object })));
        signal.addEventListener('abort', () => {
          calls.push(`end ${of}`);
          resolve();
        });
        onOpen();
      }),
  };
  const troubles: unknown[] = [];
  const follower = followPools({
    ...{ client, namespace: 'models', clock, random: () => 0, kept: kept ?? new Map() },
    onChange: () => undefined,
    onTroubles: (found) => troubles.push(found),
  });
  function follow(pool: string) {
    const found: FoundEndpoints[] = [];
    const stop = follower.follow(source(pool), { scheme: 'http', onFound: (one) => found.push(one) });
    return { stop, found, told: () => found.map(({ endpoints }) => endpoints.map(({ address }) => address)) };
  }
  const say = (of: string, type: string, object: object): void => watches.get(of)?.(type, object);
  /** Lets time pass, in which failed lists are asked for again. */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      clock.advance(50);
      await settled();
    }
  }
  return { clock, calls, follower, follow, say, state, troubles, pass };
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 40; turn += 1) await Promise.resolve();
};
/** Longer than changes are gathered. */
const gatheredMs = 50;

it('watches the pods of the pools that are followed, each selector once, and never every pod', async () => {
  const { clock, calls, follower, follow } = begin({
    pools: [poolOf('a', 'x'), poolOf('b', 'x'), poolOf('c', 'y'), poolOf('d', 'z')],
    pods: { 'app=x': [podOf('x-0', '10.0.0.1')], 'app=y': [podOf('y-0', '10.0.0.9')] },
  });
  await settled();
  expect(calls).toEqual([]);
  expect(follower.inStepAt()).toBe(Infinity);
  const [a, b, c] = [follow('a'), follow('b'), follow('c')];
  await settled();
  expect(calls.toSorted()).toEqual([
    ...['list app=x', 'list app=y', 'list pools', 'watch app=x', 'watch app=y', 'watch pools'],
  ]);
  clock.advance(gatheredMs);
  expect([a.told(), b.told(), c.told()]).toEqual([[['10.0.0.1']], [['10.0.0.1']], [['10.0.0.9']]]);
  a.stop();
  await settled();
  expect(calls).toHaveLength(6);
  c.stop();
  await settled();
  expect(calls.slice(6)).toEqual(['end app=y']);
  b.stop();
  await settled();
  expect(calls.slice(7).toSorted()).toEqual(['end app=x', 'end pools']);
  await follower.close();
});

it('reports a change of a pod at once', async () => {
  const { clock, follower, follow, say } = begin({
    pools: [poolOf('a', 'x')],
    pods: { 'app=x': [podOf('x-0', '10.0.0.1'), podOf('x-1', '10.0.0.2', false)] },
  });
  const a = follow('a');
  await settled();
  clock.advance(gatheredMs);
  say('app=x', 'MODIFIED', podOf('x-1', '10.0.0.2'));
  clock.advance(gatheredMs);
  say('app=x', 'DELETED', podOf('x-0', '10.0.0.1'));
  expect(a.told()).toEqual([['10.0.0.1'], ['10.0.0.1', '10.0.0.2'], ['10.0.0.2']]);
  clock.advance(gatheredMs);
  say('app=x', 'MODIFIED', podOf('x-1', '10.0.0.2', false));
  expect(a.found.at(-1)?.trouble).toBe('spec.inferencePool: no pod of InferencePool "a" is ready; it selects 1');
  await follower.close();
});

it('uses the pods of the earlier selector until those of a changed one are listed', async () => {
  const { clock, calls, follower, follow, say } = begin({
    pools: [poolOf('a', 'x')],
    pods: { 'app=x': [podOf('x-0', '10.0.0.1')], 'app=y': [podOf('y-0', '10.0.0.9')] },
  });
  const a = follow('a');
  await settled();
  clock.advance(2_000);
  say('pools', 'MODIFIED', poolOf('a', 'y', 6));
  expect(a.told()).toEqual([['10.0.0.1']]);
  await settled();
  clock.advance(gatheredMs);
  expect(a.told()).toEqual([['10.0.0.1'], ['10.0.0.9']]);
  expect(calls).toContain('end app=x');
  await follower.close();
});

it('asks for no pod while the selector of a pool is empty', async () => {
  const all = { metadata: { name: 'a', resourceVersion: '1' }, spec: { selector: { matchLabels: {} } } };
  const { calls, follower, follow } = begin({ pools: [all] });
  const a = follow('a');
  await settled();
  expect(a.found).toEqual([
    {
      endpoints: [],
      trouble:
        'spec.inferencePool.name: InferencePool "a" has an empty selector, which would select every pod of the namespace',
    },
  ]);
  expect(calls).toEqual(['list pools', 'watch pools']);
  await follower.close();
});

it('finds a pool that is made later, and loses one that is deleted', async () => {
  const { clock, follower, follow, say } = begin({ pools: [], pods: { 'app=x': [podOf('x-0', '10.0.0.1')] } });
  const a = follow('a');
  await settled();
  const missing = { endpoints: [], trouble: 'spec.inferencePool.name: there is no InferencePool "a"' };
  expect(a.found).toEqual([missing]);
  clock.advance(gatheredMs);
  say('pools', 'ADDED', poolOf('a', 'x', 6));
  await settled();
  expect(a.told().at(-1)).toEqual(['10.0.0.1']);
  clock.advance(gatheredMs);
  say('pools', 'DELETED', poolOf('a', 'x', 7));
  expect(a.found.at(-1)).toEqual(missing);
  await follower.close();
});

it('reports a CRD that is not installed, is not out of date for that, and finds it within five seconds', async () => {
  const { clock, follower, follow, state, troubles, pass } = begin({ pools: notFound });
  const a = follow('a');
  await settled();
  expect(a.found).toEqual([
    {
      endpoints: [],
      trouble: 'spec.inferencePool.name: the CRD InferencePool (inference.networking.k8s.io/v1) is not installed',
    },
  ]);
  await pass(60_000);
  expect(a.found).toHaveLength(1);
  expect(troubles).toEqual([[{ of: 'inferencepools', reason: 'the API server answered 404 (404 page not found)' }]]);
  expect(follower.inStepAt()).toBe(Infinity);
  Object.assign(state, { pools: [poolOf('a', 'x')], pods: { 'app=x': [podOf('x-0', '10.0.0.1')] } });
  await pass(5_000);
  expect(a.told().at(-1)).toEqual(['10.0.0.1']);
  expect(troubles.at(-1)).toEqual([]);
  expect(follower.inStepAt()).toBe(clock.now());
  await follower.close();
});

const last = { name: '10.0.0.7:8000', address: '10.0.0.7', port: 8000, authority: '10.0.0.7:8000', zone: undefined };

it('takes the endpoints that were known last when the API server is away, until it is back', async () => {
  const kept = new Map([['http inferencepool/a', [last]]]);
  const { clock, follower, follow, state, pass } = begin({ pools: new Error('away') }, kept);
  const [a, b] = [follow('a'), follow('b')];
  await settled();
  clock.advance(999);
  expect(a.told()).toEqual([]);
  clock.advance(1);
  expect([a.found, b.found]).toEqual([
    [{ endpoints: [last], trouble: undefined }],
    [{ endpoints: [], trouble: 'spec.inferencePool: not known yet: away' }],
  ]);
  expect(follower.inStepAt()).toBeUndefined();
  expect(follower.known().get('http inferencepool/a')).toEqual([last]);
  Object.assign(state, { pools: [poolOf('a', 'x')], pods: { 'app=x': [podOf('x-0', '10.0.0.1')] } });
  await pass(6_000);
  expect(a.told().at(-1)).toEqual(['10.0.0.1']);
  expect(b.found.at(-1)?.trouble).toBe('spec.inferencePool.name: there is no InferencePool "b"');
  await follower.close();
});

it('reports a right that it lacks, also of a pool that was missing before', async () => {
  const { clock, follower, follow, say, pass } = begin({ pools: [], pods: { 'app=x': forbidden } });
  const a = follow('a');
  await settled();
  clock.advance(2_000);
  say('pools', 'ADDED', poolOf('a', 'x', 6));
  await pass(1_000);
  expect(a.found.at(-1)).toEqual({
    endpoints: [],
    trouble:
      'spec.inferencePool: not known yet: the API server answered 403 (pods is forbidden); the chart grants this right with rbac.inferencePools',
  });
  await follower.close();
});
