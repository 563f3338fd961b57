import { isObject } from '../../../src/core/json.ts';
import { goodBackendSpec, goodModelSpec } from '../../support/catalog-objects.ts';
import type { ApiObject, ApiServer } from './api-server.ts';
import type { ObjectChange } from './cluster-events.ts';

export const namespace = 'weir';
const ours = `/apis/weir.dev/v1alpha1/namespaces/${namespace}`;
const slicesPath = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
const noQuery = new URLSearchParams();

type Fields = Readonly<Record<string, unknown>>;

/** The port of the pods. */
const podPort = 8000;

const priceOf = (price: number): object => ({
  ...{ prompt: `0.000000${price}`, completion: `0.00000${price}`, inputCacheRead: `0.0000000${price}` },
});

/** The routes of the two models, on two of the three Backends each. */
const routesOf = (model: number, both: boolean): readonly object[] =>
  (model === 0 ? ['pods-a', 'pods-b'] : ['pods-b', 'host-c'])
    .slice(0, both ? 2 : 1)
    .map((backend) => ({ backend, upstreamModel: 'Tiny/Upstream-1B' }));

const endpointOf = (number: number, state: 'ready' | 'starting' | 'draining') => ({
  addresses: [`10.1.0.${number + 1}`],
  conditions: {
    ready: state === 'ready',
    serving: state !== 'starting',
    terminating: state === 'draining',
  },
});

/** Writes the objects of the cluster as their owners do: at once, and without conflicts. */
export function createOwners(server: ApiServer): {
  readonly begin: () => void;
  readonly change: (change: ObjectChange) => void;
  /** Others write an annotation of an object, just before somebody else writes it. */
  readonly touch: (path: string) => void;
} {
  let touches = 0;

  function ask(method: string, path: string, body: unknown): void {
    server.answer({ method, path, query: noQuery, body });
  }
  const put = (path: string, name: string, body: Fields): void => {
    const { status } = server.answer({ method: 'PATCH', path: `${path}/${name}`, query: noQuery, body });
    if (status === 404) ask('POST', path, { ...body, metadata: { ...fieldsOf(body['metadata']), name } });
  };
  const backend = (name: string, spec: Fields): void => put(`${ours}/backends`, name, { spec });
  const model = (name: string, spec: Fields): void => put(`${ours}/models`, name, { spec });
  const modelSpec = (number: number): Fields => ({
    ...{ ...goodModelSpec, id: `demo/model-${number}`, pricing: priceOf(number + 1), cacheSharing: 'All' },
    routes: routesOf(number, true),
  });

  /** A slice with this endpoint in this state. Two slices of a Service have two endpoints each. */
  function endpoint(service: string, number: number, state: 'ready' | 'starting' | 'draining' | 'gone'): void {
    const name = `${service}-${number % 2}`;
    const before = server.find('endpointslices', name)?.['endpoints'];
    const others = (Array.isArray(before) ? before : []).filter(
      (each: { readonly addresses: readonly string[] }) => each.addresses[0] !== `10.1.0.${number + 1}`,
    );
    put(slicesPath, name, {
      metadata: { labels: { 'kubernetes.io/service-name': service } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: podPort, protocol: 'TCP' }],
      endpoints: state === 'gone' ? others : [...others, endpointOf(number, state)],
    });
  }

  return {
    begin: () => {
      for (const service of ['pods-a', 'pods-b']) {
        ask('POST', `/api/v1/namespaces/${namespace}/services`, {
          ...{ metadata: { name: service }, spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] } },
        });
        for (const number of [0, 1]) endpoint(service, number, 'ready');
        backend(service, { engine: 'vllm', service: { name: service, port: 'http' } });
      }
      backend('host-c', { ...goodBackendSpec, healthCheck: { path: '/health' } });
      for (const number of [0, 1]) model(`model-${number}`, modelSpec(number));
    },
    change: (change) => {
      switch (change.change) {
        case 'price':
          model(`model-${change.model}`, { pricing: priceOf(change.price) });
          return;
        case 'routes':
          model(`model-${change.model}`, { routes: routesOf(change.model, change.both) });
          return;
        case 'model': {
          const path = `${ours}/models/model-2`;
          if (change.action === 'delete') ask('DELETE', path, undefined);
          else if (change.action === 'leave')
            ask('PATCH', path, { metadata: { annotations: { 'weir.dev/waive-notice': 'true' } } });
          else if (server.find('models', 'model-2') === undefined)
            model('model-2', { ...modelSpec(0), id: 'demo/model-2' });
          return;
        }
        case 'check':
          backend('host-c', { healthCheck: { path: change.path } });
          return;
        case 'backend':
          if (change.action === 'make') backend('spare', goodBackendSpec);
          else ask('DELETE', `${ours}/backends/spare`, undefined);
          return;
        case 'endpoint':
          endpoint(change.service, change.number, change.state);
          return;
        case 'slice':
          ask('DELETE', `${slicesPath}/${change.service}-${change.number}`, undefined);
      }
    },
    touch: (path) => {
      touches += 1;
      const object = path.replace(/\/status$/, '');
      ask('PATCH', object, { metadata: { annotations: { 'example.com/looked-at': String(touches) } } });
    },
  };
}

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

/** The endpoints that a Service leads to now, by name: ready ones, or else those that are about to end. */
export function endpointsAt(server: ApiServer, service: string): readonly string[] {
  const all = server
    .list('endpointslices')
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === service)
    .flatMap((slice) => endpointsIn(slice));
  const named = (wanted: 'ready' | 'terminating'): readonly string[] =>
    all
      .filter(({ conditions }) =>
        wanted === 'ready' ? conditions.ready : conditions.terminating && conditions.serving,
      )
      .map(({ addresses: [address] }) => `${address}:${podPort}`)
      .toSorted();
  return named('ready').length > 0 ? named('ready') : named('terminating');
}

const endpointsIn = (slice: ApiObject): readonly ReturnType<typeof endpointOf>[] =>
  (slice['endpoints'] as readonly ReturnType<typeof endpointOf>[] | undefined) ?? [];
