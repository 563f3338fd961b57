import { describe, expect, it, test } from 'vitest';
import { endpointsOfPool, type InferencePool, type Pod, readPod, readPool } from './inference-pool.ts';

const about = (name: string, rest: object = {}) => ({ name, resourceVersion: '5', ...rest });
const rawPool = (spec: object) => ({ metadata: about('qwen'), spec });
const rawPod = (status: object, metadata: object = {}) => ({ metadata: about('qwen-0', metadata), status });
const condition = (type: string, status: string) => ({ type, status });
const up = { podIP: '10.0.0.1', conditions: [condition('Initialized', 'True'), condition('Ready', 'True')] };

const poolOf = (spec: object): InferencePool => readPool(rawPool(spec), new Map()).item;
const podOf = (status: object, metadata: object = {}): Pod => readPod(rawPod(status, metadata), new Map()).item;

describe('an InferencePool', () => {
  it('selects by all of its labels, in one order', () => {
    const matchLabels = { tier: 'a', 'app.kubernetes.io/name': 'vllm', empty: '' };
    expect(poolOf({ selector: { matchLabels }, targetPorts: [{ number: 8000 }] })).toEqual({
      ...{ resourceVersion: '5', targetPorts: [8000], appProtocol: 'http' },
      selector: 'app.kubernetes.io/name=vllm,empty=,tier=a',
    });
  });

  it('is the known one while it has the same version', () => {
    const known = readPool(rawPool({ targetPorts: [{ number: 8000 }] }), new Map()).item;
    expect(readPool(rawPool({}), new Map([['qwen', known]])).item).toBe(known);
    const newer = { metadata: about('qwen', { resourceVersion: '6' }), spec: {} };
    expect(readPool(newer, new Map([['qwen', known]])).item.targetPorts).toEqual([]);
  });
});

describe('a pod', () => {
  const deleted = { deletionTimestamp: '2026-11-01T00:00:00Z' };

  it.each<readonly [string, object, object, Pod['state']]>([
    ['is ready', up, {}, 'ready'],
    ['is ready and about to end', up, deleted, 'draining'],
    ['is not ready', { ...up, conditions: [condition('Ready', 'False')] }, {}, 'out'],
    ['is about to end and does not answer', { ...up, conditions: [condition('Ready', 'False')] }, deleted, 'out'],
    ['runs on a node that is gone', { ...up, conditions: [condition('Ready', 'Unknown')] }, {}, 'out'],
    ['has just been made', {}, {}, 'out'],
  ])('that %s', (_about, status, metadata, state) => {
    expect(podOf(status, metadata).state).toBe(state);
  });

  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['FD00:0::0:1', 'fd00::1'],
    ['', undefined],
    ['node-a', undefined],
  ])('with the address %j has the address %j', (podIP, address) => {
    expect(podOf({ ...up, podIP }).address).toBe(address);
  });

  it.each([
    [undefined, undefined],
    ['8000, 8002', [8000, 8002]],
    ['8001,x,-1', [8001]],
    ['', []],
  ])('with the active ports %j serves at %j', (text, ports) => {
    const annotations = text === undefined ? {} : { 'inference.networking.k8s.io/active-ports': text };
    expect(podOf(up, { annotations }).activePorts).toEqual(ports);
  });

  it('has the zone that Kubernetes copies from its node', () => {
    expect(podOf(up, { labels: { 'topology.kubernetes.io/zone': 'eu-1a' } }).zone).toBe('eu-1a');
    expect(podOf(up).zone).toBeUndefined();
  });

  it('is the known one until something that is used has changed', () => {
    const known = podOf(up);
    const next = (status: object, metadata: object = {}): Pod =>
      readPod(rawPod(status, { resourceVersion: '6', ...metadata }), new Map([['qwen-0', known]])).item;
    expect(next({ ...up, conditions: [condition('ContainersReady', 'True'), ...up.conditions] })).toBe(known);
    expect(next(up, deleted)).not.toBe(known);
    expect(next({ ...up, podIP: '10.0.0.2' })).not.toBe(known);
    expect(next(up, { labels: { 'topology.kubernetes.io/zone': 'eu-1a' } })).not.toBe(known);
    expect(next(up, { annotations: { 'inference.networking.k8s.io/active-ports': '8000' } })).not.toBe(known);
  });
});

describe('the endpoints of an InferencePool', () => {
  const pool = poolOf({ selector: { matchLabels: { app: 'qwen' } }, targetPorts: [{ number: 8000 }] });
  const ranks = { ...pool, targetPorts: [8001, 8000] };
  const pod = (address: string | undefined, changes: Partial<Pod> = {}): Pod => ({
    ...{ state: 'ready', address, zone: undefined, activePorts: undefined },
    ...changes,
  });
  const foundFor = (wanted: InferencePool, ...pods: readonly Pod[]) =>
    endpointsOfPool({ kind: 'inference-pool', pool: 'qwen' }, { state: 'found', pool: wanted, pods }, 'http');
  const names = (wanted: InferencePool, ...pods: readonly Pod[]): readonly string[] =>
    foundFor(wanted, ...pods).endpoints.map(({ name }) => name);

  it('have the address of their pod as Host, because a pool has no name', () => {
    expect(foundFor(pool, pod('10.0.0.1', { zone: 'eu-1a' }))).toEqual({
      endpoints: [
        { name: '10.0.0.1:8000', address: '10.0.0.1', port: 8000, authority: '10.0.0.1:8000', zone: 'eu-1a' },
      ],
      trouble: undefined,
    });
    expect(foundFor({ ...pool, targetPorts: [80] }, pod('fd00::1')).endpoints).toMatchObject([
      { name: '[fd00::1]:80', authority: '[fd00::1]' },
    ]);
  });

  test.each<readonly [string, InferencePool, readonly Pod[], readonly string[]]>([
    ['are the ready pods', pool, [pod('10.0.0.2'), pod('10.0.0.1')], ['10.0.0.1:8000', '10.0.0.2:8000']],
    [
      'are no pods that end while one is ready',
      pool,
      [pod('10.0.0.2', { state: 'draining' }), pod('10.0.0.1')],
      ['10.0.0.1:8000'],
    ],
    [
      'are pods that end where none is ready',
      pool,
      [pod('10.0.0.2', { state: 'draining' }), pod('10.0.0.1', { state: 'out' })],
      ['10.0.0.2:8000'],
    ],
    [
      'are all target ports of each pod',
      ranks,
      [pod('10.0.0.1'), pod('10.0.0.2')],
      ['10.0.0.1:8000', '10.0.0.1:8001', '10.0.0.2:8000', '10.0.0.2:8001'],
    ],
    [
      'are of a pod only its active ports',
      ranks,
      [pod('10.0.0.1', { activePorts: [8001, 9999] }), pod('10.0.0.2')],
      ['10.0.0.1:8001', '10.0.0.2:8000', '10.0.0.2:8001'],
    ],
    [
      'are each address once, also of pods in the network of one node',
      pool,
      [pod('10.0.0.1'), pod('10.0.0.1')],
      ['10.0.0.1:8000'],
    ],
    ['are no pods without an address', pool, [pod(undefined), pod('10.0.0.1')], ['10.0.0.1:8000']],
  ])('%s', (_about, wanted, pods, expected) => {
    expect(names(wanted, ...pods)).toEqual(expected);
  });

  test.each<readonly [string, InferencePool, readonly Pod[], string]>([
    ['selects nothing', pool, [], 'spec.inferencePool: no pod has the labels of InferencePool "qwen": app=qwen'],
    [
      'has no ready pod',
      pool,
      [pod('10.0.0.1', { state: 'out' }), pod(undefined, { state: 'out' })],
      'spec.inferencePool: no pod of InferencePool "qwen" is ready; it selects 2',
    ],
    [
      'has no active port',
      ranks,
      [pod('10.0.0.1', { activePorts: [] })],
      'spec.inferencePool: no ready pod of InferencePool "qwen" is active at a target port (8001, 8000); see its annotation inference.networking.k8s.io/active-ports',
    ],
    [
      'selects every pod',
      { ...pool, selector: '' },
      [],
      'spec.inferencePool.name: InferencePool "qwen" has an empty selector, which would select every pod of the namespace',
    ],
    [
      'needs another protocol',
      { ...pool, appProtocol: 'kubernetes.io/h2c' },
      [pod('10.0.0.1')],
      'spec.inferencePool.name: InferencePool "qwen" has the appProtocol kubernetes.io/h2c; engines are called with http, which is HTTP/1.1',
    ],
  ])('are none where the pool %s', (_about, wanted, pods, trouble) => {
    expect(foundFor(wanted, ...pods)).toEqual({ endpoints: [], trouble });
  });

  it.each([
    ['missing', 'spec.inferencePool.name: there is no InferencePool "qwen"'],
    [
      'not-installed',
      'spec.inferencePool.name: the CRD InferencePool (inference.networking.k8s.io/v1) is not installed',
    ],
  ] as const)('are none where it is %s', (state, trouble) => {
    expect(endpointsOfPool({ kind: 'inference-pool', pool: 'qwen' }, { state }, 'http')).toEqual({
      endpoints: [],
      trouble,
    });
  });
});
