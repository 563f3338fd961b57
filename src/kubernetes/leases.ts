import * as z from 'zod';
import type { KubeClient } from './client.ts';

export interface Lease {
  readonly name: string;
  readonly resourceVersion: string;
  /** Empty: nobody holds it. */
  readonly holder: string;
  readonly durationSeconds: number;
  readonly renewTime: string;
  readonly transitions: number;
  readonly annotations: Readonly<Record<string, string>>;
}

const rawLease = z.object({
  metadata: z.object({
    name: z.string(),
    resourceVersion: z.string(),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z
    .object({
      holderIdentity: z.string().nullish(),
      leaseDurationSeconds: z.number().nullish(),
      renewTime: z.string().nullish(),
      leaseTransitions: z.number().nullish(),
    })
    .default({}),
});
const rawList = z.object({ items: z.array(z.unknown()) });

export function readLease(raw: unknown): Lease {
  const { metadata, spec } = rawLease.parse(raw);
  return {
    ...metadata,
    holder: spec.holderIdentity ?? '',
    durationSeconds: spec.leaseDurationSeconds ?? 0,
    renewTime: spec.renewTime ?? '',
    transitions: spec.leaseTransitions ?? 0,
  };
}

export function leasesPath(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
}

export async function listLeases(client: KubeClient, path: string, labelSelector: string): Promise<readonly Lease[]> {
  const query = new URLSearchParams({ labelSelector }).toString();
  return rawList.parse(await client.call('GET', `${path}?${query}`)).items.map(readLease);
}

/** Kubernetes' `MicroTime`: it takes six decimals and nothing else. */
export function microTime(at: number): string {
  return new Date(at).toISOString().replace(/(\.\d{3})Z$/, '$1000Z');
}
