import type { KubeConnection } from './api-server.ts';
import { foreignCrdFolder, installCrds } from './cluster.ts';
import { kubeRequest } from './request.ts';

const crd = 'inferencepools.inference.networking.k8s.io';

/** Installs the CRD of InferencePool, as an operator does who adds the extension later. */
export function installPoolCrd(connection: KubeConnection): Promise<void> {
  return installCrds(connection, foreignCrdFolder, ['inferencepools.yaml']);
}

interface PodState {
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isReady: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** InferencePools and pods of one namespace, which the test writes as their owners and the kubelet do. */
export interface TestPools {
  /** Makes or changes a pool. */
  readonly pool: (name: string, labels: Readonly<Record<string, string>>, spec?: object) => Promise<void>;
  readonly removePool: (name: string) => Promise<void>;
  readonly removeCrd: () => Promise<void>;
  /** Makes or changes a pod, and its status. */
  readonly pod: (name: string, state: PodState) => Promise<void>;
  /** Deletes a pod: it is terminating until its kubelet, which a test does not have, confirms its end. */
  readonly end: (name: string) => Promise<void>;
  /** The kubelet confirms the end. */
  readonly gone: (name: string) => Promise<void>;
}

export function poolsIn(connection: KubeConnection, namespace: string): TestPools {
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const pools = `/apis/inference.networking.k8s.io/v1/namespaces/${namespace}/inferencepools`;
  async function ask(method: string, path: string, body?: object): Promise<void> {
    const answer = await kubeRequest(connection, method, path, {
      ...(body === undefined ? {} : { body }),
      ...(method === 'PATCH' ? { contentType: 'application/apply-patch+yaml' } : {}),
    });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
  return {
    pool: (name, labels, spec = {}) =>
      ask('PATCH', `${pools}/${name}?fieldManager=test&force=true`, {
        ...{ apiVersion: 'inference.networking.k8s.io/v1', kind: 'InferencePool', metadata: { name } },
        spec: {
          ...{ selector: { matchLabels: labels }, targetPorts: [{ number: 8000 }] },
          endpointPickerRef: { name: 'picker', port: { number: 9002 } },
          ...spec,
        },
      }),
    removePool: (name) => ask('DELETE', `${pools}/${name}`),
    removeCrd: () => ask('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd}`),
    pod: async (name, { address, labels, isReady, annotations = {} }) => {
      const at = { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels, annotations } };
      // A pod without a node is deleted at once.
      const spec = { nodeName: 'node-a', containers: [{ name: 'vllm', image: 'vllm' }] };
      await ask('PATCH', `${pods}/${name}?fieldManager=test&force=true`, { ...at, spec });
      const status = {
        ...{ phase: 'Running', podIP: address, podIPs: [{ ip: address }] },
        conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
      };
      await ask('PATCH', `${pods}/${name}/status?fieldManager=kubelet&force=true`, {
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
        status,
      });
    },
    end: (name) => ask('DELETE', `${pods}/${name}?gracePeriodSeconds=600`),
    gone: (name) => ask('DELETE', `${pods}/${name}?gracePeriodSeconds=0`),
  };
}
