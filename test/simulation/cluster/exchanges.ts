import { isObject } from '../../../src/core/json.ts';
import { goodBackendSpec } from '../../support/catalog-objects.ts';

/** An API server, real or simulated, for the recorded exchange. */
export interface RecordedServer {
  readonly ask: (
    method: string,
    path: string,
    body?: object,
  ) => Promise<{ readonly status: number; readonly body: unknown }>;
  /** The events of a short watch. */
  readonly watch: (path: string, fromVersion: string) => Promise<readonly unknown[]>;
  /** No watch can go on from before. */
  readonly forget: () => Promise<void>;
}

/** What a server answered, one line for each request or event, without what differs from run to run. */
export type Recording = readonly { readonly asked: string; readonly answered: unknown }[];

/** Asks a server everything that the simulation depends on. The namespace is new. */
export async function recordExchange(server: RecordedServer, namespace: string): Promise<Recording> {
  const recording: { asked: string; answered: unknown }[] = [];
  const names = createNames();
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const backends = `/apis/weir.dev/v1alpha1/namespaces/${namespace}/backends`;
  const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;

  async function ask(title: string, method: string, path: string, body?: object): Promise<string> {
    const answer = await server.ask(method, path, body);
    recording.push({ asked: title, answered: { http: answer.status, ...essenceOf(answer.body, names) } });
    return versionOf(answer.body);
  }
  async function watch(title: string, path: string, from: string): Promise<void> {
    const events = (await server.watch(path, from)).map((event) => {
      const { type, object } = event as { readonly type: string; readonly object: unknown };
      return { type, ...essenceOf(object, names) };
    });
    recording.push({ asked: title, answered: events });
  }
  const uid = async (path: string): Promise<string> => {
    const { body } = await server.ask('GET', path);
    return isObject(body) && isObject(body['metadata']) ? String(body['metadata']['uid']) : '';
  };

  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'own' }, spec: {} };
  const held = (holderIdentity: string, resourceVersion?: string): object => ({
    ...lease,
    metadata: { name: 'own', ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    spec: { holderIdentity, leaseDurationSeconds: 10, leaseTransitions: 1 },
  });
  await ask('a lease that is not there', 'GET', `${leases}/own`);
  const first = await ask('make a lease', 'POST', leases, held('a'));
  await ask('make it again', 'POST', leases, held('b'));
  await ask('renew it', 'PUT', `${leases}/own`, held('a', first));
  await ask('take it, from a version that is over', 'PUT', `${leases}/own`, held('b', first));
  const marked = { metadata: { labels: { role: 'one' }, annotations: { view: 'x' } } };
  await ask('merge into it', 'PATCH', `${leases}/own`, marked);
  await ask('merge the same into it', 'PATCH', `${leases}/own`, marked);
  await ask('select by a label', 'GET', `${leases}?labelSelector=role=one`);
  await ask('select by a label that none has', 'GET', `${leases}?labelSelector=role=two`);
  await ask('merge into a lease that is not there', 'PATCH', `${leases}/other`, marked);
  await ask('delete it', 'DELETE', `${leases}/own`);
  await ask('delete it again', 'DELETE', `${leases}/own`);

  const slice = {
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
    metadata: { name: 's', labels: { 'kubernetes.io/service-name': 's' } },
    ports: [{ name: 'http', port: 8000, protocol: 'TCP' }],
  };
  const ready = (...addresses: readonly string[]): object => ({
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  });
  await ask('make a slice', 'POST', slices, { ...slice, ...ready('10.1.0.1', '10.1.0.2') });
  await ask('a list is replaced whole', 'PATCH', `${slices}/s`, ready('10.1.0.2'));

  const spec = { ...goodBackendSpec, tls: { mode: 'Disabled' } };
  const made = await ask('make an object', 'POST', backends, {
    ...{ apiVersion: 'weir.dev/v1alpha1', kind: 'Backend', metadata: { name: 'b' }, spec },
    status: { observedGeneration: 7 },
  });
  await ask('change its spec', 'PATCH', `${backends}/b`, { spec: { engine: 'sglang' } });
  await ask('change nothing', 'PATCH', `${backends}/b`, { spec: { engine: 'sglang' } });
  await ask('write its status', 'PATCH', `${backends}/b/status`, {
    ...{ metadata: { uid: await uid(`${backends}/b`) }, status: { observedGeneration: 2 } },
  });
  await ask('write the same status', 'PATCH', `${backends}/b/status`, { status: { observedGeneration: 2 } });
  await ask('write the status of another object of its name', 'PATCH', `${backends}/b/status`, {
    ...{ metadata: { uid: 'c3b6ae5c-1f4b-4b44-9d6a-000000000000' }, status: { observedGeneration: 3 } },
  });
  await ask('change another object of its name', 'PATCH', `${backends}/b`, {
    ...{ metadata: { uid: 'c3b6ae5c-1f4b-4b44-9d6a-000000000000' }, spec: { engine: 'vllm' } },
  });
  await ask('write the status of a version that is over', 'PATCH', `${backends}/b/status`, {
    ...{ metadata: { resourceVersion: made }, status: { observedGeneration: 5 } },
  });
  await ask('write its spec with the status', 'PATCH', `${backends}/b/status`, { spec: { engine: 'vllm' } });
  await ask('write its status with the spec', 'PATCH', `${backends}/b`, { status: { observedGeneration: 4 } });
  const finalizers = ['weir.dev/test'];
  await ask('change a version that is over', 'PATCH', `${backends}/b`, {
    ...{ metadata: { resourceVersion: made, finalizers } },
  });
  const kept = await ask('add a finalizer', 'PATCH', `${backends}/b`, { metadata: { finalizers } });
  await ask('select by a name', 'GET', `${backends}?fieldSelector=metadata.name%3Db`);
  await ask('delete an object that has a finalizer', 'DELETE', `${backends}/b`);
  await ask('delete it again', 'DELETE', `${backends}/b`);
  await ask('write its status meanwhile', 'PATCH', `${backends}/b/status`, { status: { observedGeneration: 3 } });
  await ask('remove the finalizer', 'PATCH', `${backends}/b`, { metadata: { finalizers: [] } });
  await ask('it is gone', 'GET', `${backends}/b`);
  await watch('watch from the first version', backends, made);
  await watch('watch from a later version', backends, kept);
  await server.forget();
  await watch('watch from a version that is forgotten', backends, made);
  return recording;
}

/** Names for versions and uids, in the order in which they come. */
function createNames(): (kind: 'version' | 'uid', text: string) => string {
  const known = new Map<string, string>();
  return (kind, text) => {
    const key = `${kind} ${text}`;
    const name = known.get(key) ?? `${kind}-${[...known.keys()].filter((each) => each.startsWith(kind)).length + 1}`;
    known.set(key, name);
    return name;
  };
}

function versionOf(body: unknown): string {
  return isObject(body) && isObject(body['metadata']) ? String(body['metadata']['resourceVersion']) : '';
}

/** What the simulation depends on: kind, versions, generation, spec, status and the metadata that Weir reads. */
function essenceOf(body: unknown, names: ReturnType<typeof createNames>): Readonly<Record<string, unknown>> {
  if (!isObject(body)) return { text: body };
  const { kind, code, reason, items, metadata } = body;
  if (kind === 'Status') return { kind, result: body['status'], code, reason };
  // The version of a list is that of the newest object anywhere.
  if (Array.isArray(items)) return { kind, items: items.map((item) => essenceOf({ ...item, kind: 'item' }, names)) };
  const { resourceVersion, uid, deletionTimestamp, ...rest } = isObject(metadata) ? metadata : {};
  const { name, generation, labels, annotations, finalizers } = rest;
  return {
    kind,
    ...{ name, generation, labels, annotations, finalizers },
    version: names('version', String(resourceVersion)),
    uid: typeof uid === 'string' ? names('uid', uid) : undefined,
    isDeleted: deletionTimestamp !== undefined,
    ...{ spec: body['spec'], status: body['status'] },
    ...(body['endpoints'] === undefined ? {} : { endpoints: body['endpoints'] }),
  };
}
