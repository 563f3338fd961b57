import type { V1Lease } from '@kubernetes/client-node';
import * as z from 'zod';
import { type Clock, waitFor } from '../core/clock.ts';
import { endpointFaults, type EndpointsView, type ReplicaView } from '../core/replica.ts';
import { isRefusal, type KubeClient, mergePatch } from './client.ts';
import { durationMsOf, microTime, watchRenewals } from './leases.ts';

export interface ReplicaLeasesOptions {
  readonly client: Pick<KubeClient, 'leases'>;
  readonly namespace: string;
  /** Name of this replica's pod. */
  readonly name: string;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** The replicas of a namespace tell each other what each sees: each writes a Lease of its own, which ends with it. */
export interface ReplicaLeases {
  /** Writes the view if it differs from the last one, and at times to show that this replica is alive. Never rejects. */
  readonly publish: (view: ReplicaView) => Promise<void>;
  /** The views of the other replicas that are alive. Rejects when the API server does not answer. */
  readonly others: () => Promise<readonly ReplicaView[]>;
  /** Deletes this replica's lease. */
  readonly close: () => Promise<void>;
}

const prefix = 'weir-replica-';
const roleLabel = { 'weir.dev/role': 'replica' };
const viewAnnotation = 'weir.dev/view';
const durationSeconds = 15;
const renewMs = 5_000;
/** The leases of replicas that died are deleted after so long. */
const deleteAfterMs = 10 * 60_000;
/** The annotations of an object may have 256 KiB together. What is left out counts as in order. */
const mostNames = 1_000;
/** Only Backends with an endpoint that is not well are written, so many of them, each with a few names. */
const mostBackends = 200;
const mostEndpoints = 3;
const closeMs = 2_000;

const writtenView = z.object({
  hasEnvoy: z.boolean(),
  clusters: z.array(z.string()),
  refused: z.record(z.string(), z.string()),
  unreachable: z.record(z.string(), z.enum(['no-address', 'unhealthy'])),
  out: z.array(z.string()),
  failing: z.record(z.string(), z.object({ status: z.number().optional() })).default({}),
  unlisted: z.array(z.string()),
  // An older version writes none.
  endpoints: z
    .record(
      z.string(),
      z.object({
        total: z.number(),
        healthy: z.number(),
        failing: z.array(
          z.object({
            endpoint: z.string(),
            why: z.enum(endpointFaults),
            answer: z.union([z.object({ status: z.number() }), z.object({ problem: z.string() })]).optional(),
          }),
        ),
        trouble: z.string().optional(),
      }),
    )
    .default({}),
});

export function createReplicaLeases(options: ReplicaLeasesOptions): ReplicaLeases {
  const { namespace, name, clock, onError } = options;
  const { leases } = options.client;
  const own = `${prefix}${name}`;
  const renewals = watchRenewals(clock);
  /** The views of the others as they were last read: an unchanged view stays the same object. */
  const known = new Map<string, { readonly text: string; readonly view: ReplicaView | undefined }>();
  let last: { readonly text: string; readonly at: number } | undefined;
  let lastError = '';

  async function write(text: string): Promise<void> {
    const body: V1Lease = {
      metadata: { name: own, labels: roleLabel, annotations: { [viewAnnotation]: text } },
      spec: { holderIdentity: name, leaseDurationSeconds: durationSeconds, renewTime: microTime(clock.now()) },
    };
    try {
      await leases.patchNamespacedLease({ namespace, name: own, body }, mergePatch);
    } catch (error) {
      if (!isRefusal(error, 404)) throw error;
      await leases.createNamespacedLease({ namespace, body });
    }
  }

  function readView({ metadata }: V1Lease): ReplicaView | undefined {
    const [leaseName, text] = [metadata?.name ?? '', metadata?.annotations?.[viewAnnotation] ?? ''];
    const before = known.get(leaseName);
    if (before?.text === text) return before.view;
    const view = viewOf(leaseName, text);
    known.set(leaseName, { text, view });
    return view;
  }

  const remove = (leaseName: string): Promise<unknown> =>
    leases.deleteNamespacedLease({ namespace, name: leaseName }).catch(() => undefined);

  return {
    publish: async (view) => {
      const text = textOf(view);
      const now = clock.elapsed();
      if (last?.text === text && now - last.at < renewMs) return;
      try {
        await write(text);
        last = { text, at: now };
        lastError = '';
      } catch (error) {
        const said = String(error);
        if (said !== lastError) onError(error);
        lastError = said;
      }
    },
    others: async () => {
      const asked = clock.elapsed();
      const { items } = await leases.listNamespacedLease({ namespace, labelSelector: 'weir.dev/role=replica' });
      const names = new Set(items.map(({ metadata }) => metadata?.name ?? ''));
      renewals.retain(names);
      for (const gone of known.keys()) if (!names.has(gone)) known.delete(gone);
      return items.flatMap((lease) => {
        const leaseName = lease.metadata?.name ?? '';
        if (leaseName === own) return [];
        const silentMs = renewals.silentMs(lease, asked);
        if (silentMs > deleteAfterMs) void remove(leaseName);
        const view = silentMs < durationMsOf(lease) ? readView(lease) : undefined;
        return view === undefined ? [] : [view];
      });
    },
    close: async () => {
      const stop = new AbortController();
      await Promise.race([remove(own), waitFor(closeMs, { clock, signal: stop.signal })]);
      stop.abort();
    },
  };
}

function textOf({ hasEnvoy, clusters, refused, unreachable, out, failing, unlisted, endpoints }: ReplicaView): string {
  const unwell = [...endpoints].filter(([, { total, healthy }]) => healthy < total || total === 0);
  return JSON.stringify({
    hasEnvoy,
    clusters: [...clusters],
    refused: Object.fromEntries([...refused].slice(0, 50)),
    unreachable: Object.fromEntries([...unreachable].slice(0, mostNames)),
    out: [...out].slice(0, mostNames),
    failing: Object.fromEntries([...failing].slice(0, mostBackends)),
    unlisted: [...unlisted].slice(0, mostNames),
    endpoints: Object.fromEntries(unwell.slice(0, mostBackends).map(([backend, view]) => [backend, shortened(view)])),
  });
}

function shortened({ failing, trouble, ...counts }: EndpointsView): EndpointsView {
  return { ...counts, failing: failing.slice(0, mostEndpoints), trouble: trouble?.slice(0, 300) };
}

/** Reads a view; undefined when another version of the service wrote it in another form. */
function viewOf(name: string, text: string): ReplicaView | undefined {
  try {
    const view = writtenView.parse(JSON.parse(text));
    return {
      name: name.slice(prefix.length),
      hasEnvoy: view.hasEnvoy,
      clusters: new Set(view.clusters),
      refused: new Map(Object.entries(view.refused)),
      unreachable: new Map(Object.entries(view.unreachable)),
      out: new Set(view.out),
      failing: new Map(Object.entries(view.failing).map(([backend, { status }]) => [backend, { status }])),
      unlisted: new Set(view.unlisted),
      endpoints: new Map(
        Object.entries(view.endpoints).map(([backend, { trouble, ...counts }]) => [backend, { ...counts, trouble }]),
      ),
    };
  } catch {
    return undefined;
  }
}
