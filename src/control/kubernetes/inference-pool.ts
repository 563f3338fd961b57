import ipaddr from 'ipaddr.js';
import * as z from 'zod';
import {
  authorityOf,
  type Endpoint,
  endpointName,
  type FoundEndpoints,
  type InferencePoolSource,
  type Scheme,
} from '../../core/endpoint.ts';
import { servingEndpoints } from './endpoint-slices.ts';

/** Where the API server has InferencePools: the Gateway API Inference Extension from 1.0 on. */
export const poolGroup = { group: 'inference.networking.k8s.io', version: 'v1', plural: 'inferencepools' } as const;

/** The stored part of an InferencePool. */
export interface InferencePool {
  readonly resourceVersion: string;
  /** The labels that a pod must have, as the API server's selector, `app=vllm,tier=a`; empty: the pool names no label. */
  readonly selector: string;
  readonly targetPorts: readonly number[];
  /** `http` means HTTP/1.1. */
  readonly appProtocol: string;
}

/** The stored part of a pod. */
export interface Pod {
  /** `draining`: the pod is about to end and still answers. */
  readonly state: 'ready' | 'draining' | 'out';
  /** IPv4 or IPv6, in Envoy's spelling; undefined: the pod has none yet. */
  readonly address: string | undefined;
  readonly zone: string | undefined;
  /** The only target ports at which the pod serves now; undefined: it serves at all of them. */
  readonly activePorts: readonly number[] | undefined;
}

type Known<Item> = { readonly name: string; readonly item: Item };

const rawPool = z.object({
  metadata: z.object({ name: z.string(), resourceVersion: z.string() }),
  spec: z.object({
    selector: z.object({ matchLabels: z.record(z.string(), z.string()).nullish() }).nullish(),
    targetPorts: z.array(z.object({ number: z.number() })).nullish(),
    appProtocol: z.string().nullish(),
  }),
});

/** Reads an InferencePool. The result is the known one unless the object has another version. */
export function readPool(raw: unknown, known: ReadonlyMap<string, InferencePool>): Known<InferencePool> {
  const { metadata, spec } = rawPool.parse(raw);
  const { name, resourceVersion } = metadata;
  const before = known.get(name);
  if (before?.resourceVersion === resourceVersion) return { name, item: before };
  const labels = Object.entries(spec.selector?.matchLabels ?? {});
  const item: InferencePool = {
    resourceVersion,
    selector: labels
      .map(([label, value]) => `${label}=${value}`)
      .sort()
      .join(','),
    targetPorts: (spec.targetPorts ?? []).map(({ number }) => number),
    appProtocol: spec.appProtocol ?? 'http',
  };
  return { name, item };
}

const zoneLabel = 'topology.kubernetes.io/zone';
const activePortsAnnotation = 'inference.networking.k8s.io/active-ports';

const rawPod = z.object({
  metadata: z.object({
    name: z.string(),
    deletionTimestamp: z.string().nullish(),
    labels: z.record(z.string(), z.string()).nullish(),
    annotations: z.record(z.string(), z.string()).nullish(),
  }),
  status: z
    .object({
      podIP: z.string().nullish(),
      conditions: z.array(z.object({ type: z.string(), status: z.string() })).nullish(),
    })
    .nullish(),
});

/**
 * Reads a pod. The result is the known one unless its stored part has changed: the kubelet writes the status of a pod
 * more often than its readiness changes.
 */
export function readPod(raw: unknown, known: ReadonlyMap<string, Pod>): Known<Pod> {
  const { metadata, status } = rawPod.parse(raw);
  const { name, deletionTimestamp, labels, annotations } = metadata;
  const isReady = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true;
  const isEnding = deletionTimestamp !== undefined && deletionTimestamp !== null;
  const address = status?.podIP ?? '';
  const item: Pod = {
    state: isReady ? (isEnding ? 'draining' : 'ready') : 'out',
    address: ipaddr.isValid(address) ? ipaddr.parse(address).toString() : undefined,
    zone: labels?.[zoneLabel],
    activePorts: portsIn(annotations?.[activePortsAnnotation]),
  };
  const before = known.get(name);
  return { name, item: before !== undefined && isSamePod(before, item) ? before : item };
}

/** `8000, 8002`. As in the extension's own picker, a part that is no number names no port. */
function portsIn(text: string | undefined): readonly number[] | undefined {
  return text
    ?.split(',')
    .map((part) => Number.parseInt(part.trim(), 10))
    .filter((port) => port > 0);
}

function isSamePod(a: Pod, b: Pod): boolean {
  const ports = [a, b].map(({ activePorts }) => activePorts?.join());
  return a.state === b.state && a.address === b.address && a.zone === b.zone && ports[0] === ports[1];
}

/** What the API server has of an InferencePool. */
type FoundPool =
  | { readonly state: 'not-installed' | 'missing' }
  | { readonly state: 'found'; readonly pool: InferencePool; readonly pods: readonly Pod[] };

/** Why a pool cannot have an endpoint, whatever its pods do; undefined: it can. */
export function poolFault({ selector, appProtocol }: InferencePool, name: string): string | undefined {
  const named = `spec.inferencePool.name: InferencePool "${name}"`;
  if (selector === '') return `${named} has an empty selector, which would select every pod of the namespace`;
  if (appProtocol !== 'http') {
    return `${named} has the appProtocol ${appProtocol}; engines are called with http, which is HTTP/1.1`;
  }
  return undefined;
}

/** The endpoints of an InferencePool: each target port of each pod. */
export function endpointsOfPool({ pool: name }: InferencePoolSource, found: FoundPool, scheme: Scheme): FoundEndpoints {
  switch (found.state) {
    case 'not-installed': {
      const { group, version } = poolGroup;
      return none(`spec.inferencePool.name: the CRD InferencePool (${group}/${version}) is not installed`);
    }
    case 'missing':
      return none(`spec.inferencePool.name: there is no InferencePool "${name}"`);
    case 'found': {
      const { pool, pods } = found;
      const fault = poolFault(pool, name);
      if (fault !== undefined) return none(fault);
      const endpoints = servingEndpoints((state) =>
        pods.flatMap((pod) => (pod.state === state ? endpointsAt(pod, pool, scheme) : [])),
      );
      return endpoints.length > 0 ? { endpoints, trouble: undefined } : none(troubleOf(pool, { name, pods }));
    }
  }
}

const none = (trouble: string): FoundEndpoints => ({ endpoints: [], trouble });

/** A pool has no host name of its own, so the Host header is the address. */
function endpointsAt(
  { address, zone, activePorts }: Pod,
  { targetPorts }: InferencePool,
  scheme: Scheme,
): readonly Endpoint[] {
  if (address === undefined) return [];
  return targetPorts
    .filter((port) => activePorts?.includes(port) !== false)
    .map((port) => {
      const authority = authorityOf({ host: address, port }, scheme);
      return { name: endpointName(address, port), address, port, authority, zone };
    });
}

function troubleOf(
  { selector, targetPorts }: InferencePool,
  { name, pods }: { readonly name: string; readonly pods: readonly Pod[] },
): string {
  const named = `InferencePool "${name}"`;
  if (pods.length === 0) return `spec.inferencePool: no pod has the labels of ${named}: ${selector}`;
  if (pods.some(({ state }) => state !== 'out')) {
    const ports = targetPorts.join(', ');
    return `spec.inferencePool: no ready pod of ${named} is active at a target port (${ports}); see its annotation ${activePortsAnnotation}`;
  }
  return `spec.inferencePool: no pod of ${named} is ready; it selects ${pods.length}`;
}
