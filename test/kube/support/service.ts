import { networkInterfaces } from 'node:os';
import type { KubeConnection } from './api-server.ts';
import { kubeRequest } from './request.ts';

/**
 * An address of this machine that an EndpointSlice may hold: the API server takes none of loopback there. Undefined where the
 * machine has no other.
 */
export const podAddress: string | undefined = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

export type PodState = 'ready' | 'starting' | 'terminating';

const conditionsOf: Readonly<Record<PodState, object>> = {
  ready: { ready: true, serving: true, terminating: false },
  starting: { ready: false, serving: false, terminating: false },
  terminating: { ready: false, serving: true, terminating: true },
};

/** A Service whose EndpointSlices the test writes itself, as a controller does that has heard of its pods. */
export interface TestService {
  /** Says how a pod is, from now on. Each has a slice of its own, as pods do whose named port differs. */
  readonly pod: (
    name: string,
    at: { readonly port: number; readonly address?: string },
    state: PodState,
  ) => Promise<void>;
  /** The pod is gone. */
  readonly gone: (name: string) => Promise<void>;
}

/** Makes a Service with the port 80, named `http`. */
export async function makeService(connection: KubeConnection, namespace: string, name: string): Promise<TestService> {
  const answer = await kubeRequest(connection, 'POST', `/api/v1/namespaces/${namespace}/services`, {
    body: {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name } },
      spec: { ports: [{ name: 'http', port: 80, targetPort: 'web' }] },
    },
  });
  if (answer.status >= 300) throw new Error(`POST ${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return serviceOf(connection, namespace, name);
}

/** A Service that exists, with a port named `http`. */
export function serviceOf(connection: KubeConnection, namespace: string, name: string): TestService {
  const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  async function ask(method: string, path: string, body?: object): Promise<void> {
    const answer = await kubeRequest(connection, method, path, {
      ...(body === undefined ? {} : { body }),
      ...(method === 'PATCH' ? { contentType: 'application/apply-patch+yaml' } : {}),
    });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
  return {
    pod: (pod, { port, address = podAddress ?? '' }, state) =>
      ask('PATCH', `${slices}/${name}-${pod}?fieldManager=test&force=true`, {
        ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
        metadata: { name: `${name}-${pod}`, labels: { 'kubernetes.io/service-name': name } },
        ports: [{ name: 'http', port, protocol: 'TCP' }],
        endpoints: [{ addresses: [address], conditions: conditionsOf[state] }],
      }),
    gone: (pod) => ask('DELETE', `${slices}/${name}-${pod}`),
  };
}
