// @suite long
/** Every way in which an object can be wrong, and what `kubectl` shows of it then. */
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { makeNamespace } from './support/cluster.ts';
import { objectsIn } from './support/objects.ts';
import { startTestReplica, type TestReplica } from './support/replica.ts';
import { makeService } from './support/service.ts';

const kubernetes = inject('kubernetes');
let cluster: ReturnType<typeof objectsIn>;
let namespace: string;
let replica: TestReplica;
const started: TestReplica[] = [];

async function start(name: string): Promise<TestReplica> {
  const one = await startTestReplica({ kubeconfig: kubernetes.kubeconfig, namespace, name });
  started.push(one);
  return one;
}

beforeEach(async () => {
  namespace = await makeNamespace(kubernetes);
  cluster = objectsIn(kubernetes, namespace);
  replica = await start('weir-0');
});
afterEach(async () => {
  for (const one of started.splice(0)) await one.close();
});

const polling = { interval: 100 };
const routesTo = (...backends: readonly string[]) => ({
  routes: backends.map((backend) => ({ backend, upstreamModel: 'm' })),
});
async function until(plural: 'models' | 'backends', name: string, type: string, says: string | RegExp): Promise<void> {
  await expect
    .poll(() => cluster.condition(plural, name, type), polling)
    .toMatch(typeof says === 'string' ? new RegExp(`^${RegExp.escape(says)}$`) : says);
}
async function untilEvent(event: string): Promise<void> {
  await expect.poll(cluster.events, polling).toContain(event);
}

test('what is in order says so, in every condition and for its generation', async () => {
  await cluster.backend('vllm-a', { healthCheck: { path: '/health' } });
  await cluster.model('good');
  await until('models', 'good', 'Servable', 'True RoutesReady');
  await until('models', 'good', 'Accepted', 'True Accepted');
  await until('models', 'good', 'Listed', 'True Listed');
  await until('models', 'good', 'Retiring', 'False Staying');
  await until(
    'models',
    'good',
    'Priced',
    'True Priced: USD per token: prompt 0.00000015, completion 0.0000006, cached 0.00000003',
  );
  await until('backends', 'vllm-a', 'Accepted', 'True Accepted');
  await until('backends', 'vllm-a', 'Programmed', 'True Programmed: in Envoy');
  await until('backends', 'vllm-a', 'Healthy', 'True HealthCheckPassed');
  const model = await cluster.get('models', 'good');
  expect(model.status).toMatchObject({ observedGeneration: 1, routes: { ready: 1, total: 1, summary: '1/1' } });
  expect(model.metadata.finalizers).toEqual(['weir.dev/notice']);
  await untilEvent('Normal Listed Model/good');
});

test('nothing is written while nothing changes, and a condition keeps its time over a change that leaves it', async () => {
  await cluster.backend('vllm-a');
  await cluster.model('good');
  await until('models', 'good', 'Servable', 'True RoutesReady');
  await until('backends', 'vllm-a', 'Programmed', 'True Programmed: in Envoy');
  const before = await cluster.get('models', 'good');
  // It leaves word every five seconds, and looks more often than that.
  const renewals = new Set<string>();
  const renewed = async (): Promise<number> =>
    renewals.add((await cluster.renewals())['weir-replica-weir-0'] ?? '').size;
  await expect.poll(renewed, polling).toBe(3);
  expect((await cluster.get('models', 'good')).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  await cluster.model('good', { contextLength: 4096 });
  await until('models', 'good', 'Accepted', 'True Accepted');
  const after = await cluster.get('models', 'good');
  expect(after.status?.observedGeneration).toBe(2);
  const timeOf = ({ status }: typeof before) => status?.conditions?.map((one) => [one.type, one.lastTransitionTime]);
  expect(timeOf(after)).toEqual(timeOf(before));
});

test('a status update of somebody else compiles nothing', async () => {
  await cluster.backend('vllm-a');
  await cluster.model('good');
  await until('models', 'good', 'Servable', 'True RoutesReady');
  const [swaps, snapshot] = [replica.swaps(), replica.snapshot()];
  await cluster.merge('models', 'good', { metadata: { labels: { team: 'a' } } });
  await cluster.model('another');
  await expect.poll(() => replica.models(), polling).toContain('test/another');
  expect(replica.swaps()).toBe(swaps + 1);
  expect(replica.snapshot().models.get('test/good')).toBe(snapshot.models.get('test/good'));
});

test('a route to a Backend that is not there names the field, and the other routes serve', async () => {
  await cluster.backend('vllm-a');
  await cluster.model('some', routesTo('vllm-a', 'nobody'));
  await cluster.model('none', routesTo('nobody'));
  const fault = 'expected a Backend, there is none named "nobody"';
  await until('models', 'some', 'Servable', `True SomeRoutesReady: spec.routes[1].backend: ${fault}`);
  await until('models', 'some', 'Listed', 'True Listed');
  await until('models', 'none', 'Accepted', 'True Accepted');
  await until('models', 'none', 'Servable', `False BackendNotUsable: spec.routes[0].backend: ${fault}`);
  await until('models', 'none', 'Listed', /^False NotInCatalog/);
  expect((await cluster.get('models', 'none')).status?.routes).toMatchObject({ summary: '0/1' });
  // It never served anybody: it can go at once.
  expect((await cluster.get('models', 'none')).metadata.finalizers).toBeUndefined();
  await untilEvent('Warning NotServable Model/none');
});

test('of two Models with one id the younger is refused, and takes over when the older has gone', async () => {
  await cluster.backend('vllm-a');
  await cluster.model('older', { id: 'test/same' });
  await until('models', 'older', 'Servable', 'True RoutesReady');
  await new Promise((resolve) => setTimeout(resolve, 1_100)); // Kubernetes counts age in seconds.
  await cluster.model('younger', { id: 'test/same' });
  const fault = 'spec.id: expected a name of its own, "test/same" is already taken by Model/older';
  await until('models', 'younger', 'Accepted', `False IdTaken: ${fault}`);
  await until('models', 'younger', 'Listed', /^False NotInCatalog/);
  await untilEvent('Warning IdTaken Model/younger');
  await cluster.merge('models', 'older', { metadata: { annotations: { 'weir.dev/waive-notice': 'true' } } });
  await cluster.remove('models', 'older');
  await until('models', 'younger', 'Accepted', 'True Accepted');
});

test.each<readonly [string, object, Readonly<Record<string, string>> | undefined, string]>([
  [
    'a Secret that is not there',
    { credentials: { secretRef: { name: 'token', key: 'key' } } },
    undefined,
    'spec.credentials.secretRef.name: expected a Secret, there is no usable one named "token"',
  ],
  [
    'a key that its Secret does not have',
    { credentials: { secretRef: { name: 'token', key: 'key' } } },
    { other: 'x' },
    'spec.credentials.secretRef.key: expected a key of Secret "token", it has no "key"',
  ],
  [
    'a token that no header can carry',
    { credentials: { secretRef: { name: 'token', key: 'key' } } },
    { key: 'two words' },
    'spec.credentials.secretRef.key: expected 1 to 8192 visible characters in key "key" of Secret "token"',
  ],
  [
    'authorities that are none',
    { tls: { mode: 'Custom', caSecretRef: { name: 'token', key: 'key' } } },
    { key: 'no certificate' },
    'spec.tls.caSecretRef.key: expected PEM certificates in key "key" of Secret "token"',
  ],
])('%s: the Backend names it, and its models say that it is the Backend', async (_, spec, secret, fault) => {
  if (secret !== undefined) await cluster.secret('token', secret);
  await cluster.backend('vllm-a', { ...spec });
  await cluster.model('good');
  await until('backends', 'vllm-a', 'Accepted', `False SecretNotUsable: ${fault}`);
  await until('backends', 'vllm-a', 'Programmed', /^False NotAccepted/);
  await until('backends', 'vllm-a', 'Healthy', /^Unknown NotProgrammed/);
  await until(
    'models',
    'good',
    'Servable',
    'False BackendNotUsable: spec.routes[0].backend: expected a usable Backend, "vllm-a" has a problem of its own',
  );
  await untilEvent('Warning SecretNotUsable Backend/vllm-a');
});

test('a Backend that turns bad goes on as it last was good, and says that this is not what it declares', async () => {
  await cluster.backend('vllm-a');
  await cluster.model('good');
  await until('models', 'good', 'Servable', 'True RoutesReady');
  const served = replica.snapshot().models.get('test/good');
  await cluster.backend('vllm-a', { credentials: { secretRef: { name: 'gone', key: 'key' } } });
  await until('backends', 'vllm-a', 'Accepted', /^False SecretNotUsable/);
  await until('backends', 'vllm-a', 'Programmed', /^False LastGoodServes/);
  expect(replica.snapshot().models.get('test/good')).toEqual(served);
  await until('models', 'good', 'Servable', /^True/);
  await cluster.secret('gone', { key: 'back' });
  await until('backends', 'vllm-a', 'Programmed', /^True Programmed/);
});

test('what the Envoy of one replica refuses, lacks or cannot reach is told with its name', async () => {
  const other = await start('weir-1');
  await cluster.backend('vllm-a', { healthCheck: { path: '/health' } });
  await cluster.model('good');
  await until('backends', 'vllm-a', 'Programmed', 'True Programmed: in the Envoy of all 2 replicas');

  other.envoy.refused.set('vllm-a', 'no such cipher');
  await until('backends', 'vllm-a', 'Programmed', 'False EnvoyRefused: refused by the Envoy of weir-1: no such cipher');
  await untilEvent('Warning NotProgrammed Backend/vllm-a');
  await until('models', 'good', 'Servable', /^False NoRouteReady: .*not in the Envoy of weir-1 \(in weir-1\)/);

  other.envoy.refused.clear();
  other.envoy.lagging.add('vllm-a');
  await until('backends', 'vllm-a', 'Programmed', 'False Lagging: not in the Envoy of weir-1 yet (1 of 2)');

  other.envoy.lagging.clear();
  other.envoy.isAway = true;
  await until('backends', 'vllm-a', 'Programmed', 'False Lagging: not in the Envoy of weir-1 yet (1 of 2)');

  other.envoy.isAway = false;
  other.envoy.endpoints.set('vllm-a', { total: 2, healthy: 0 });
  await until(
    'backends',
    'vllm-a',
    'Healthy',
    'False HealthCheckFailed: spec.healthCheck: no endpoint passes the health check (seen by weir-1)',
  );
  await untilEvent('Warning Unhealthy Backend/vllm-a');
  other.envoy.endpoints.set('vllm-a', { total: 0, healthy: 0 });
  await until(
    'backends',
    'vllm-a',
    'Healthy',
    'False NoAddress: spec.endpoint: no host has an address (seen by weir-1)',
  );
  const failing = [{ endpoint: '10.0.0.3:8000', why: 'health-check' }] as const;
  other.envoy.endpoints.set('vllm-a', { total: 8, healthy: 7, failing });
  replica.envoy.endpoints.set('vllm-a', { total: 8, healthy: 8 });
  await until(
    'backends',
    'vllm-a',
    'Healthy',
    'True SomeEndpointsFail: 7 of 8 endpoints; 10.0.0.3:8000 fails the health check (seen by weir-1)',
  );
  expect((await cluster.get('backends', 'vllm-a')).status).toMatchObject({
    endpoints: { total: 8, healthy: 7, summary: '7 of 8' },
  });
  replica.ejected.set('test/good@vllm-a', ['10.0.0.5:8000']);
  await until(
    'backends',
    'vllm-a',
    'Healthy',
    'True SomeEndpointsFail: 6 of 8 endpoints; 10.0.0.5:8000 failed recent attempts; 10.0.0.3:8000 fails the health check',
  );
  replica.ejected.clear();
  replica.envoy.endpoints.clear();
  other.envoy.endpoints.clear();
  await until('backends', 'vllm-a', 'Healthy', 'True HealthCheckPassed');
});

test('a Service is followed as it is, and the Backend says why it leads nowhere', async () => {
  await cluster.backend('pods', { endpoint: undefined, service: { name: 'pods', port: 8000 } });
  replica.envoy.endpoints.set('pods', { total: 0, healthy: 0 });
  const says = (message: string): Promise<void> =>
    until('backends', 'pods', 'Healthy', `False NoReadyEndpoint: ${message}`);
  const isUnusable = (message: string): Promise<void> =>
    until('backends', 'pods', 'Programmed', `False ServiceNotUsable: ${message}`);
  await says('spec.service.name: there is no Service "pods"');
  await isUnusable('spec.service.name: there is no Service "pods"');
  const service = await makeService(kubernetes, namespace, 'pods');
  await says('spec.service.port: Service "pods" has no TCP port 8000; it has 80 (http)');
  await isUnusable('spec.service.port: Service "pods" has no TCP port 8000; it has 80 (http)');
  await cluster.backend('pods', { endpoint: undefined, service: { name: 'pods', port: 80 } });
  await says('spec.service: Service "pods" has no EndpointSlice yet');
  // Such a Service may get pods at any time.
  await until('backends', 'pods', 'Programmed', /^True Programmed/);
  await service.pod('one', { address: '10.0.0.1', port: 8000 }, 'starting');
  await says('spec.service: no pod of Service "pods" is ready');

  const endpoints = (): readonly string[] => replica.endpoints('pods');
  await service.pod('one', { address: '10.0.0.1', port: 8000 }, 'ready');
  await expect.poll(endpoints, polling).toEqual(['10.0.0.1:8000']);
  await service.pod('two', { address: '10.0.0.2', port: 8001 }, 'ready');
  await expect.poll(endpoints, polling).toEqual(['10.0.0.1:8000', '10.0.0.2:8001']);
  await service.pod('one', { address: '10.0.0.1', port: 8000 }, 'terminating');
  await expect.poll(endpoints, polling).toEqual(['10.0.0.2:8001']);
  await service.gone('two');
  // kube-proxy, too, would rather use a pod that is about to end than none.
  await expect.poll(endpoints, polling).toEqual(['10.0.0.1:8000']);
  replica.envoy.endpoints.set('pods', { total: 1, healthy: 1 });
  await until('backends', 'pods', 'Healthy', /^True NothingFailed/);
  expect((await cluster.get('backends', 'pods')).status).toMatchObject({ endpoints: { summary: '1 of 1' } });
});

test('routes whose requests fail, and a service level that is missed, unlist a model and say why', async () => {
  await cluster.backend('vllm-a');
  await cluster.model('good', { serviceLevel: { minAvailability: '0.99' } });
  await until('models', 'good', 'Listed', 'True Listed');
  replica.unlisted.add('test/good');
  await until(
    'models',
    'good',
    'Listed',
    'False BelowServiceLevel: spec.serviceLevel: fewer recent requests than it requires were within the objective',
  );
  await untilEvent('Warning Unlisted Model/good');
  replica.out.add('test/good@vllm-a');
  await until('models', 'good', 'Servable', 'False NoRouteReady: spec.routes[0].backend: "vllm-a": requests fail');
  await until('models', 'good', 'Listed', 'False NotServable: no route takes requests');
  await until('backends', 'vllm-a', 'Healthy', /^False RequestsFail/);
  replica.out.clear();
  replica.unlisted.clear();
  await until('models', 'good', 'Listed', 'True Listed');
});
