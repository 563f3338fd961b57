import * as z from 'zod';
import type { Clock, CancelTimer } from '../core/clock.ts';
import type { ReplicaView } from '../core/replica.ts';
import { isRefusal } from './api-error.ts';
import type { KubeClient } from './client.ts';
import { type Lease, leasesPath, listLeases, microTime } from './leases.ts';
import { createSeenAlive } from './seen-alive.ts';

export interface ReplicaLeasesOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Name of this replica's pod. */
  readonly name: string;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** Where the replicas of a namespace leave word of what each sees: a Lease for each, which ends with it. */
export interface ReplicaLeases {
  /** Leaves word now if it differs from the last, and at times to say that it is alive. Never rejects. */
  readonly publish: (view: ReplicaView) => Promise<void>;
  /** The other replicas that are alive. Rejects when the API server does not tell. */
  readonly others: () => Promise<readonly ReplicaView[]>;
  /** Takes back its word. */
  readonly close: () => Promise<void>;
}

const prefix = 'weir-replica-';
const roleLabel = { 'weir.dev/role': 'replica' };
const viewAnnotation = 'weir.dev/view';
const durationSeconds = 15;
const renewMs = 5_000;
/** The leases of replicas that died are cleared away after so long. */
const buriedMs = 10 * 60_000;
/** Annotations of an object may have 256 KiB together; what is not told counts as in order. */
const mostNames = 1_000;
const closeMs = 2_000;

const writtenView = z.object({
  hasEnvoy: z.boolean(),
  clusters: z.array(z.string()),
  refused: z.record(z.string(), z.string()),
  unreachable: z.record(z.string(), z.enum(['no-address', 'unhealthy'])),
  out: z.array(z.string()),
  unlisted: z.array(z.string()),
});

export function createReplicaLeases(options: ReplicaLeasesOptions): ReplicaLeases {
  const { client, name, clock, onError } = options;
  const path = leasesPath(options.namespace);
  const own = `${prefix}${name}`;
  const seen = createSeenAlive(clock);
  /** The others' words as they were last read: what has not changed stays the same view. */
  const known = new Map<string, { readonly text: string; readonly view: ReplicaView | undefined }>();
  let last: { readonly text: string; readonly at: number } | undefined;
  let trouble = '';

  async function write(text: string): Promise<void> {
    const spec = { holderIdentity: name, leaseDurationSeconds: durationSeconds, renewTime: microTime(clock.now()) };
    const metadata = { labels: roleLabel, annotations: { [viewAnnotation]: text } };
    try {
      await client.call('PATCH', `${path}/${own}`, { patch: 'merge-patch+json', body: { metadata, spec } });
    } catch (error) {
      if (!isRefusal(error, 404)) throw error;
      const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: own, ...metadata }, spec };
      await client.call('POST', path, { body });
    }
  }

  function readView(lease: Lease): ReplicaView | undefined {
    const text = lease.annotations[viewAnnotation] ?? '';
    const before = known.get(lease.name);
    if (before?.text === text) return before.view;
    const view = viewOf(lease.name, text);
    known.set(lease.name, { text, view });
    return view;
  }

  function bury({ name: dead }: Lease): void {
    client.call('DELETE', `${path}/${dead}`).catch(() => undefined);
  }

  return {
    publish: async (view) => {
      const text = textOf(view);
      const now = clock.elapsed();
      if (last?.text === text && now - last.at < renewMs) return;
      try {
        await write(text);
        last = { text, at: now };
        trouble = '';
      } catch (error) {
        const said = String(error);
        if (said !== trouble) onError(error);
        trouble = said;
      }
    },
    others: async () => {
      const leases = await listLeases(client, path, 'weir.dev/role=replica');
      const names = new Set(leases.map((lease) => lease.name));
      seen.retain(names);
      for (const dead of known.keys()) if (!names.has(dead)) known.delete(dead);
      return leases.flatMap((lease) => {
        if (lease.name === own) return [];
        const silentMs = seen.silentMs(lease);
        if (silentMs > buriedMs) bury(lease);
        const view = silentMs < lease.durationSeconds * 1000 ? readView(lease) : undefined;
        return view === undefined ? [] : [view];
      });
    },
    close: async () => {
      const late = Promise.withResolvers<void>();
      const cancelTimer: CancelTimer = clock.after(closeMs, late.resolve);
      await Promise.race([client.call('DELETE', `${path}/${own}`).catch(() => undefined), late.promise]);
      cancelTimer();
    },
  };
}

function textOf({ hasEnvoy, clusters, refused, unreachable, out, unlisted }: ReplicaView): string {
  return JSON.stringify({
    hasEnvoy,
    clusters: [...clusters],
    refused: Object.fromEntries([...refused].slice(0, 50)),
    unreachable: Object.fromEntries([...unreachable].slice(0, mostNames)),
    out: [...out].slice(0, mostNames),
    unlisted: [...unlisted].slice(0, mostNames),
  });
}

/** Undefined when another version of the service wrote it in words of its own. */
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
      unlisted: new Set(view.unlisted),
    };
  } catch {
    return undefined;
  }
}
