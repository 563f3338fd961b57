import { describe, expect, it } from 'vitest';
import { backend, goodModelSpec, model } from '../../../test/support/catalog-objects.ts';
import { observedBackend, observedCatalog, observedEndpoints } from '../../../test/support/observed.ts';
import type { CatalogObject, KubeObject } from '../../core/catalog.ts';
import type { FailingBackend, ObservedEndpoints, Unreachable } from '../../core/observed-catalog.ts';
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
  const replica = observedCatalog(compilation.snapshot.clusters);
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
      Servable: 'False NotAccepted: it serves no requests until it is accepted',
      Listed: expect.stringMatching(/^False NotInCatalog/) as string,
    });
  });

  it('says that the last good version serves', () => {
    const conditions = conditionsOf([backend('vllm-a'), model('a', { contextLength: 0 })], 'Model/a', good);
    expect(conditions['Accepted']).toBe('False Invalid: spec.contextLength: expected at least 1');
    expect(conditions['Servable']).toMatch(/^True LastGoodServes: .*spec\.contextLength/);
    expect(conditions['Listed']).toBe('True Listed: ');
  });

  it('distinguishes a fault in the prices from the others, and what is charged meanwhile', () => {
    const pricing = { ...goodModelSpec.pricing, prompt: 'free' };
    const alone = conditionsOf([backend('vllm-a'), model('a', { pricing })], 'Model/a');
    expect(alone['Priced']).toMatch(/^False Invalid: spec\.pricing\.prompt: expected USD per token/);
    const before = conditionsOf([backend('vllm-a'), model('a', { pricing })], 'Model/a', good);
    expect(before['Priced']).toMatch(/charged as before: USD per token: prompt 0\.00000015/);
  });

  it('leaves out a route that is at fault by itself', () => {
    const routes = [...goodModelSpec.routes, { backend: 'vllm-b', upstreamModel: 'm', weight: -1 }];
    const conditions = conditionsOf([backend('vllm-a'), backend('vllm-b'), model('a', { routes })], 'Model/a');
    expect(conditions['Accepted']).toBe('True SomeRoutesRefused: spec.routes[1].weight: expected at least 0');
    expect(conditions['Servable']).toBe('True RoutesReady: ');
  });

  it('names the routes whose engines cannot divide their cache, unless the model accepts that', () => {
    const routes = [...goodModelSpec.routes, { backend: 'llama-b', upstreamModel: 'm' }];
    const backends = [backend('vllm-a'), backend('llama-b', { engine: 'llamacpp' })];
    expect(conditionsOf([...backends, model('a', { routes })], 'Model/a')['Accepted']).toBe(
      'True CacheNotDivided: spec.routes[1].backend: "llama-b" (llamacpp): the engine cannot divide its prefix cache ' +
        'among workspaces; spec.cacheSharing: All accepts that',
    );
    const shared = model('a', { routes, cacheSharing: 'All' });
    expect(conditionsOf([...backends, shared], 'Model/a')['Accepted']).toBe('True Accepted: ');
  });

  it('leaves out an alias that is taken', () => {
    const other = model('b', { id: 'qwen/other', aliases: ['qwen/qwen3-8b', 'fine'] });
    const conditions = conditionsOf([backend('vllm-a'), model('a'), other], 'Model/b');
    const fault = 'spec.aliases[0]: expected a name of its own, "qwen/qwen3-8b" is the id of Model/a';
    expect(conditions).toMatchObject({
      Accepted: `True SomeAliasesRefused: ${fault}`,
      Servable: 'True RoutesReady: ',
      Listed: 'True Listed: ',
    });
  });

  it('says that a standby alone is ready, and names the route that is missing', () => {
    const standby = { backend: 'vllm-b', upstreamModel: 'm', weight: 0 };
    const routes = [...goodModelSpec.routes, standby];
    const both = [backend('vllm-a'), backend('vllm-b'), model('a', { routes })];
    expect(conditionsOf(both, 'Model/a')['Servable']).toBe('True RoutesReady: ');
    const fault = 'spec.routes[0].backend: expected a Backend, there is none named "vllm-a" (Did you mean vllm-b?)';
    expect(conditionsOf(both.slice(1), 'Model/a')).toMatchObject({
      Servable: `True StandbyReady: only routes of weight 0 are ready; ${fault}`,
      Listed: 'True Listed: ',
    });
    const standbys = [backend('vllm-b'), model('a', { routes: [standby] })];
    expect(conditionsOf(standbys, 'Model/a')['Servable']).toBe('True RoutesReady: ');
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

describe('the endpoints of a Backend', () => {
  const service = { endpoint: undefined, service: { name: 'vllm-a', port: 'http' } };
  const pool = { endpoint: undefined, inferencePool: { name: 'qwen' } };
  const objects = (spec: object = {}) => [backend('vllm-a', { healthCheck: { path: '/health' }, ...spec }), model('a')];

  interface Seen extends Partial<ObservedEndpoints> {
    readonly unreachable?: Unreachable;
    readonly out?: boolean;
    readonly unlisted?: boolean;
    readonly hasEnvoy?: boolean;
    readonly failed?: FailingBackend;
    readonly isUntried?: boolean;
    readonly differs?: string;
  }

  function statusOf(seen: readonly (Seen | undefined)[], declared = objects()) {
    const compilation = compile(declared);
    const replicas = seen.map((one, index) => {
      const { unreachable, out, failed, hasEnvoy = true, isUntried = false, differs } = one ?? {};
      const { unlisted = out === true || unreachable !== undefined, ...counts } = one ?? {};
      const endpoints = one === undefined ? undefined : observedEndpoints(counts);
      return observedCatalog(compilation.snapshot.clusters, {
        ...{ name: `weir-${index}`, hasEnvoy },
        unlisted: new Set(unlisted ? ['qwen/qwen3-8b'] : []),
        backends: new Map([
          ['vllm-a', observedBackend({ unreachable, failing: failed, isUntried, differs, endpoints })],
        ]),
        out: new Set(out === true ? ['qwen/qwen3-8b@vllm-a'] : []),
      });
    });
    const kubeObjects = declared.map((object) => kubeObject(object));
    const statuses = [...objectStatuses(kubeObjects, { compilation, replicas, now })];
    const [ofBackend, ofModel] = statuses.map(({ after, status }) => ({
      endpoints: status['endpoints'],
      routes: status['routes'],
      says: (type: string) =>
        after.filter((one) => one.type === type).map((one) => `${one.status} ${one.reason}: ${one.message}`)[0],
    }));
    return {
      endpoints: ofBackend?.endpoints,
      routes: ofModel?.routes,
      healthy: ofBackend?.says('Healthy'),
      programmed: ofBackend?.says('Programmed'),
      servable: ofModel?.says('Servable'),
      listed: ofModel?.says('Listed'),
    };
  }

  const third = { endpoint: '10.0.0.3:8000', why: 'health-check' } as const;
  const fifth = { endpoint: '10.0.0.5:8000', why: 'requests' } as const;

  it('are all well', () => {
    expect(statusOf([{}, undefined])).toMatchObject({
      endpoints: { total: 8, healthy: 8, summary: '8 of 8' },
      healthy: 'True HealthCheckPassed: ',
    });
  });

  it.each<readonly [string, readonly (Seen | undefined)[], string, string]>([
    [
      'one that is not well, and why',
      [{ healthy: 7, failing: [third] }],
      '7 of 8',
      'True SomeEndpointsFail: 7 of 8 endpoints; 10.0.0.3:8000 fails the health check',
    ],
    [
      'each with its reason',
      [{ healthy: 6, failing: [third, fifth] }],
      '6 of 8',
      'True SomeEndpointsFail: 6 of 8 endpoints; 10.0.0.3:8000 fails the health check; 10.0.0.5:8000 failed recent attempts',
    ],
    [
      'that one is slow, although no attempt failed',
      [{ healthy: 7, failing: [{ ...fifth, why: 'slow' }] }],
      '7 of 8',
      'True SomeEndpointsFail: 7 of 8 endpoints; 10.0.0.5:8000 is slow: other endpoints answered first',
    ],
    [
      'how many more there are',
      [{ total: 20, healthy: 9, failing: [third] }],
      '9 of 20',
      'True SomeEndpointsFail: 9 of 20 endpoints; 10.0.0.3:8000 fails the health check; 10 more',
    ],
    [
      'which replicas see it, an endpoint that two see counted once',
      [{ healthy: 7, failing: [third] }, { healthy: 6, failing: [third, fifth] }, undefined],
      '6 of 8',
      'True SomeEndpointsFail: 6 of 8 endpoints; 10.0.0.3:8000 fails the health check; ' +
        '10.0.0.5:8000 failed recent attempts (seen by weir-0, weir-1)',
    ],
    [
      'that different replicas miss different ones',
      [
        { healthy: 7, failing: [third] },
        { healthy: 7, failing: [fifth] },
      ],
      '6 of 8',
      'True SomeEndpointsFail: 6 of 8 endpoints; 10.0.0.3:8000 fails the health check; 10.0.0.5:8000 failed recent attempts',
    ],
  ])('say %s', (_about, seen, summary, says) => {
    expect(statusOf(seen)).toMatchObject({ endpoints: { summary }, healthy: says, servable: 'True RoutesReady: ' });
  });

  it('are unknown until something was tried in some replica, or a health check passed', () => {
    const unchecked = objects({ healthCheck: undefined });
    const untried = { isUntried: true };
    expect(statusOf([untried, untried], unchecked).healthy).toBe(
      'Unknown NotTried: no request or probe has been answered yet',
    );
    expect(statusOf([untried, {}], unchecked).healthy).toBe('True NothingFailed: no health check is declared');
    expect(statusOf([untried]).healthy).toBe('True HealthCheckPassed: ');
  });

  it('name what the engine lists otherwise than it is declared', () => {
    const differs = 'upstreamModel "a" is not listed; it lists b';
    expect(statusOf([{}, { differs }]).healthy).toBe(`True DiffersFromManifest: ${differs}`);
    const failed = { status: 404, cause: 'no-such-model', evidence: 'requests' } as const;
    expect(statusOf([{ differs, failed, out: true }]).healthy).toMatch(/^False NoSuchModel/);
  });

  it('fail when the last requests did, all of one prompt, too', () => {
    const failed = { status: 401, cause: 'credential-refused' } as const;
    expect(statusOf([{ failed: { ...failed, evidence: 'many-requests' } }])).toMatchObject({
      healthy: 'False LastRequestsFailed: at least the last 10 requests failed: it refuses the credential (HTTP 401)',
    });
    expect(statusOf([{ failed: { ...failed, said: 'No such key', evidence: 'many-requests' } }])).toMatchObject({
      healthy:
        'False LastRequestsFailed: at least the last 10 requests failed: it refuses the credential (HTTP 401); it says “No such key”',
    });
    expect(statusOf([{ failed: { ...failed, evidence: 'requests' } }])).toMatchObject({
      healthy: 'True HealthCheckPassed: ',
    });
    expect(statusOf([{ failed: { ...failed, evidence: 'probe' } }])).toMatchObject({
      healthy: 'False CredentialRefused: it refuses the credential (HTTP 401): no request has been answered since',
    });
    // A replica of the version before names no cause.
    expect(statusOf([{ failed: { status: 500, cause: undefined, evidence: 'many-requests' } }])).toMatchObject({
      healthy: 'False LastRequestsFailed: at least the last 10 requests failed',
    });
  });

  it.each<readonly [string, Seen, object, string, string]>([
    [
      'the health check of all fails',
      { healthy: 0, failing: [third], unreachable: 'unhealthy' },
      {},
      'False HealthCheckFailed: spec.healthCheck: no endpoint passes the health check',
      'no endpoint passes the health check',
    ],
    [
      'the health check of all fails, and what they answer is known',
      { healthy: 0, failing: [{ ...third, answer: { status: 401 } }], unreachable: 'unhealthy' },
      {},
      'False HealthCheckFailed: spec.healthCheck: no endpoint passes the health check; 10.0.0.3:8000: HTTP 401; health checks carry no credentials, so spec.healthCheck.path must work without them',
      'no endpoint passes the health check; 10.0.0.3:8000: HTTP 401; health checks carry no credentials, so spec.healthCheck.path must work without them',
    ],
    [
      'requests to all failed',
      { healthy: 0, failing: [fifth], out: true },
      {},
      'False RequestsFail: requests on all of its routes fail',
      'requests fail',
    ],
    [
      'requests to all failed, and the cause is known',
      {
        ...{ healthy: 0, failing: [fifth], out: true },
        failed: { status: undefined, cause: 'connection-refused', evidence: 'requests' },
      },
      {},
      'False ConnectionRefused: it refuses connections: requests on all of its routes fail',
      'it refuses connections',
    ],
    [
      'a name has no address',
      { total: 0, healthy: 0, unreachable: 'no-address', trouble: 'spec.endpoint.host: "a" has no address' },
      {},
      'False NoAddress: spec.endpoint.host: "a" has no address',
      '"a" has no address',
    ],
    [
      'no pod is ready',
      { total: 0, healthy: 0, unreachable: 'no-address', trouble: 'spec.service: no pod of Service "vllm-a" is ready' },
      service,
      'False NoReadyEndpoint: spec.service: no pod of Service "vllm-a" is ready',
      'no pod of Service "vllm-a" is ready',
    ],
    [
      'another version of Weir reports that no pod is ready',
      { total: 0, healthy: 0, unreachable: 'no-address' },
      service,
      'False NoReadyEndpoint: spec.service: no pod of the Service is ready',
      'no pod of the Service is ready',
    ],
    [
      'no pod of an InferencePool is ready',
      { total: 0, healthy: 0, unreachable: 'no-address', trouble: 'spec.inferencePool: none of the 2 pods is ready' },
      pool,
      'False NoReadyEndpoint: spec.inferencePool: none of the 2 pods is ready',
      'none of the 2 pods is ready',
    ],
    [
      'another version of Weir reports that no pod of an InferencePool is ready',
      { total: 0, healthy: 0, unreachable: 'no-address' },
      pool,
      'False NoReadyEndpoint: spec.inferencePool: no pod of the pool is ready',
      'no pod of the pool is ready',
    ],
  ])('make it unhealthy when %s, and the Model says so, too', (_about, seen, spec, says, ofModel) => {
    const status = statusOf([seen], objects(spec));
    expect(status.healthy).toBe(says);
    expect(status.servable).toBe(`False NoRouteReady: spec.routes[0].backend: "vllm-a": ${ofModel}`);
    expect(status.listed).toBe('False NotServable: no route takes requests');
  });

  it.each([
    ['ready in every replica', [{}, {}], 1],
    ['not ready in a replica without an Envoy', [{}, { hasEnvoy: false }], 0],
    ['not ready in a replica where its requests fail', [{ out: true }, {}], 0],
  ])('make a route %s', (_about, seen, ready) => {
    expect(statusOf(seen).routes).toEqual({ ready, total: 1, summary: `${ready}/1` });
  });

  it('leave a Model servable while a replica lists it on trial, and listed only while it is servable', () => {
    const failed = 'spec.routes[0].backend: "vllm-a": requests fail';
    expect(statusOf([{ out: true, unlisted: false }, {}])).toMatchObject({
      servable: `True OnTrial: ${failed}; no request came in the last minute, and the next one finds out (in weir-0)`,
      listed: 'True Listed: ',
    });
    expect(statusOf([{ out: true, unlisted: false }, { out: true }])).toMatchObject({
      servable: `False NoRouteReady: ${failed} (in weir-1)`,
      listed: 'False NotServable: no route takes requests (by weir-1)',
    });
    expect(statusOf([{}, { hasEnvoy: false }])).toMatchObject({
      servable: 'False NoRouteReady: spec.routes[0].backend: "vllm-a": not in the Envoy of weir-1 (in weir-1)',
      listed: 'False NotServable: no route takes requests (by weir-1)',
    });
  });

  it.each([
    ['spec.service.name: there is no Service "vllm-a"', service, 'False ServiceNotUsable: spec.service.name: '],
    [
      'spec.service.port: Service "vllm-a" has no TCP port http',
      service,
      'False ServiceNotUsable: spec.service.port: ',
    ],
    ['spec.service: no pod of Service "vllm-a" is ready', service, 'True Programmed: in the Envoy of all 2'],
    [
      'spec.inferencePool.name: there is no InferencePool "qwen"',
      pool,
      'False InferencePoolNotUsable: spec.inferencePool.name: ',
    ],
    ['spec.inferencePool: none of the 2 pods is ready', pool, 'True Programmed: in the Envoy of all 2'],
    ['spec.endpoint.host: "a" has no address', {}, 'True Programmed: in the Envoy of all 2'],
  ])('are programmed unless their source cannot have any: %s', (trouble, spec, says) => {
    const none = { total: 0, healthy: 0, unreachable: 'no-address', trouble } as const;
    const { programmed } = statusOf([undefined, none], objects(spec));
    expect(programmed).toContain(says);
  });

  it('are not counted while no Envoy knows of them', () => {
    expect(statusOf([undefined])).toMatchObject({ endpoints: null, healthy: 'True HealthCheckPassed: ' });
    expect(statusOf([])).toMatchObject({ endpoints: null, healthy: 'Unknown NotProgrammed: no Envoy has it yet' });
  });

  it('are written when their number changes, and not again', () => {
    const compilation = compile(objects());
    const facts = (healthy: number) => ({
      ...{ compilation, now },
      replicas: [
        observedCatalog(compilation.snapshot.clusters, {
          backends: new Map([
            ['vllm-a', observedBackend({ endpoints: observedEndpoints({ total: healthy, healthy }) })],
          ]),
        }),
      ],
    });
    const [object] = objects().map((declared) => kubeObject(declared));
    const declared = [...compilation.results.keys()][0]!;
    const [first] = objectStatuses([{ ...object!, declared }], facts(8));
    const written = { ...object!, declared, status: first?.status };
    expect([...objectStatuses([written], facts(8))].map(({ differs }) => differs)).toEqual([false]);
    expect([...objectStatuses([written], facts(9))].map(({ differs }) => differs)).toEqual([true]);
  });
});
