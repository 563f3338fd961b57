import { goodBackendSpec, goodModelSpec } from '../../support/catalog-objects.ts';
import type { KubeConnection } from './api-server.ts';
import { kubeRequest } from './request.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
}

export interface StoredObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly generation: number;
    readonly resourceVersion: string;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
  readonly spec: Fields;
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
    readonly routes?: Fields;
    readonly [field: string]: unknown;
    readonly retireAt?: string;
    readonly announcedAt?: string;
    readonly announcedFor?: string;
  };
}

type Plural = 'models' | 'backends' | 'secrets' | 'configmaps' | 'workspaces' | 'apikeys' | 'credits' | 'identities';

export interface StoredEvent {
  readonly reason: string;
  readonly type: string;
  readonly note: string;
  readonly regarding: { readonly kind: string; readonly name: string };
  readonly series?: { readonly count: number };
}

/** What tests do with the objects of one namespace. Every call rejects with the server's answer when it is refused. */
export function objectsIn(connection: Omit<KubeConnection, 'kubeconfig'>, namespace: string) {
  const pathOf = (plural: Plural, name = ''): string => {
    const api = plural === 'secrets' || plural === 'configmaps' ? '/api/v1' : '/apis/weir.dev/v1alpha1';
    return `${api}/namespaces/${namespace}/${plural}${name === '' ? '' : `/${name}`}`;
  };
  async function ask(method: string, path: string, body?: object, contentType?: string): Promise<unknown> {
    const answer = await kubeRequest(connection, method, path, {
      ...(body === undefined ? {} : { body }),
      ...(contentType === undefined ? {} : { contentType }),
    });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
  const apply = (plural: Plural, kind: string, name: string, fields: Fields): Promise<unknown> => {
    const apiVersion = plural === 'secrets' || plural === 'configmaps' ? 'v1' : 'weir.dev/v1alpha1';
    const body = { apiVersion, kind, metadata: { name, namespace }, ...fields };
    const path = `${pathOf(plural, name)}?fieldManager=test&force=true`;
    return ask('PATCH', path, body, 'application/apply-patch+yaml');
  };
  const merge = (plural: Plural, name: string, body: object): Promise<unknown> =>
    ask('PATCH', pathOf(plural, name), body, 'application/merge-patch+json');
  const leases = async (): Promise<readonly StoredLease[]> => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    return ((await ask('GET', path)) as { readonly items: readonly StoredLease[] }).items;
  };
  const storedEvents = async (): Promise<readonly StoredEvent[]> => {
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
    return ((await ask('GET', path)) as { readonly items: readonly StoredEvent[] }).items;
  };
  return {
    backend: (name: string, spec: Fields = {}) =>
      apply('backends', 'Backend', name, { spec: { ...goodBackendSpec, ...spec } }),
    model: (name: string, spec: Fields = {}) =>
      apply('models', 'Model', name, { spec: { ...goodModelSpec, id: `test/${name}`, ...spec } }),
    workspace: (name: string, spec: Fields = {}) => apply('workspaces', 'Workspace', name, { spec }),
    /** An ApiKey whose Secret has its name. */
    apiKey: (name: string, workspace: string, spec: Fields = {}) =>
      apply('apikeys', 'ApiKey', name, { spec: { workspace, secretRef: { name }, ...spec } }),
    identity: (name: string, spec: Fields) => apply('identities', 'Identity', name, { spec }),
    credit: (name: string, workspace: string, spec: { readonly usd: string; readonly note: string }) =>
      apply('credits', 'Credit', name, { spec: { workspace, ...spec } }),
    /** The entry of a Secret; undefined: there is no such Secret. */
    secretText: async (name: string, entry = 'key'): Promise<string | undefined> => {
      const { status, body } = await kubeRequest(connection, 'GET', pathOf('secrets', name));
      if (status === 404) return undefined;
      return atob((body as { readonly data: Readonly<Record<string, string>> }).data[entry] ?? '');
    },
    secret: (name: string, values: Readonly<Record<string, string>>) =>
      apply('secrets', 'Secret', name, {
        data: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, btoa(value)])),
      }),
    configMap: (name: string, data: Readonly<Record<string, string>>) =>
      apply('configmaps', 'ConfigMap', name, { data }),
    merge,
    /** Changes an annotation, so that the controller looks at the object again. Each `mark` counts once. */
    touch: (plural: Plural, name: string, mark: string) =>
      merge(plural, name, { metadata: { annotations: { 'weir.dev/looked-at': mark } } }),
    remove: (plural: Plural, name: string) => ask('DELETE', pathOf(plural, name)),
    get: (plural: Plural, name: string) => ask('GET', pathOf(plural, name)) as Promise<StoredObject>,
    list: async (plural: Plural) =>
      ((await ask('GET', pathOf(plural))) as { readonly items: readonly StoredObject[] }).items,
    exists: async (plural: Plural, name: string) =>
      (await kubeRequest(connection, 'GET', pathOf(plural, name))).status === 200,
    /** A condition in one line, `True Accepted: …`; empty while it is not there for this generation. */
    condition: async (plural: Plural, name: string, type: string): Promise<string> => {
      const { metadata, status } = (await ask('GET', pathOf(plural, name))) as StoredObject;
      const found = status?.conditions?.find((condition) => condition.type === type);
      if (found === undefined || found.observedGeneration !== metadata.generation) return '';
      return `${found.status} ${found.reason}${found.message === '' ? '' : `: ${found.message}`}`;
    },
    storedEvents,
    events: async (): Promise<readonly string[]> =>
      (await storedEvents()).map(
        ({ type, reason, regarding }) => `${type} ${reason} ${regarding.kind}/${regarding.name}`,
      ),
    /** Who holds which Lease, and when each was last renewed. */
    leases: async () => byName(await leases(), ({ spec }) => spec.holderIdentity ?? ''),
    renewals: async () => byName(await leases(), ({ spec }) => spec.renewTime ?? ''),
  };
}

interface StoredLease {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly holderIdentity?: string; readonly renewTime?: string };
}

function byName(
  leases: readonly StoredLease[],
  read: (lease: StoredLease) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(leases.map((lease) => [lease.metadata.name, read(lease)]));
}
