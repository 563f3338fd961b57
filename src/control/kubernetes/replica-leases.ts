import type { V1Lease } from '@kubernetes/client-node';
import * as z from 'zod';
import { causeNamed } from '../../core/cause.ts';
import { type Clock, within } from '../../core/clock.ts';
import {
  endpointFaults,
  failingEvidence,
  type ObservedBackend,
  type ObservedCatalog,
  type ObservedEndpoints,
  unreachableReasons,
  vectorsFaults,
} from '../../core/observed-catalog.ts';
import { isRefusal, type KubeClient, mergePatch } from './client.ts';
import { durationMsOf, microTime, watchRenewals } from './leases.ts';

interface ReplicaLeasesOptions {
  readonly client: Pick<KubeClient, 'leases'>;
  readonly namespace: string;
  /** Name of this replica's pod. */
  readonly name: string;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

const prefix = 'weir-replica-';
const roleLabel = { 'weir.dev/role': 'replica' };
const viewAnnotation = 'weir.dev/view';
const durationSeconds = 15;
const renewMs = 5_000;
/** The lease of a replica that has died is deleted after this time. */
const deleteAfterMs = 10 * 60_000;
/**
 * The annotations of an object may have 256 KiB together, so only this many names are written. Facts that are left out
 * count as good.
 */
const maxNames = 1_000;
/**
 * Most Backends whose endpoints are written. Only Backends with an endpoint that gets no requests are among them, each
 * with a few names.
 */
const maxBackends = 200;
const maxEndpoints = 3;
const maxTextLength = 300;
const closeMs = 2_000;

// An older version writes the status alone, of failures that last. A newer one may name causes that are not known here.
const failingBackend = z
  .object({
    status: z.number().optional(),
    cause: z.string().optional(),
    said: z.string().optional(),
    evidence: z.enum(failingEvidence).catch('requests').default('many-requests'),
  })
  .transform(({ status, cause, said, evidence }) => ({ status, cause: causeNamed(cause), said, evidence }));

const writtenCatalog = z.object({
  hasEnvoy: z.boolean(),
  clusters: z.array(z.string()),
  refused: z.record(z.string(), z.string()),
  unreachable: z.record(z.string(), z.enum(unreachableReasons)),
  out: z.array(z.string()),
  failing: z.record(z.string(), failingBackend).default({}),
  // An older version does not write these fields. A Backend that is left out has been tried.
  isUntried: z.record(z.string(), z.literal(true)).default({}),
  differs: z.record(z.string(), z.string()).default({}),
  unlisted: z.array(z.string()),
  // An older version does not write this field.
  vectors: z
    .record(z.string(), z.object({ kind: z.enum(vectorsFaults), isWhole: z.boolean(), text: z.string() }))
    .default({}),
  // An older version does not write this field.
  endpoints: z
    .record(
      z.string(),
      z.object({
        total: z.number(),
        healthy: z.number(),
        // An older version does not write this field.
        ejected: z.number().optional(),
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
type WrittenCatalog = z.output<typeof writtenCatalog>;

/** The replicas of a namespace exchange their observations. Each replica writes its own Lease, and deletes it at its end. */
export function createReplicaLeases(options: ReplicaLeasesOptions) {
  const { namespace, name, clock, onError } = options;
  const { leases } = options.client;
  const own = `${prefix}${name}`;
  const renewals = watchRenewals(clock);
  /** The last texts of the other replicas' leases, and what they contain. An unchanged text is not parsed again. */
  const known = new Map<string, { readonly text: string; readonly observed: ObservedCatalog | undefined }>();
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

  function read({ metadata }: V1Lease): ObservedCatalog | undefined {
    const [leaseName, text] = [metadata?.name ?? '', metadata?.annotations?.[viewAnnotation] ?? ''];
    const before = known.get(leaseName);
    if (before?.text === text) return before.observed;
    const observed = readText(leaseName, text);
    known.set(leaseName, { text, observed });
    return observed;
  }

  const remove = (leaseName: string): Promise<unknown> =>
    leases.deleteNamespacedLease({ namespace, name: leaseName }).catch(() => undefined);

  return {
    /** Writes the observations of this replica if they have changed, and regularly to show that it is alive. Never rejects. */
    publish: async (observed: ObservedCatalog): Promise<void> => {
      const text = textOf(observed);
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
    /** The observations of the other replicas that are alive. Rejects when the API server does not answer. */
    others: async (): Promise<readonly ObservedCatalog[]> => {
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
        const observed = silentMs < durationMsOf(lease) ? read(lease) : undefined;
        return observed === undefined ? [] : [observed];
      });
    },
    /** Deletes this replica's lease. */
    close: async (): Promise<void> => {
      await within(closeMs, clock, remove(own));
    },
  };
}

function textOf({ hasEnvoy, clusters, backends, out, unlisted, vectors }: ObservedCatalog): string {
  /** One fact of all backends that have it, by their names. */
  const fact = <Value>(most: number, of: (backend: ObservedBackend) => Value | undefined): Record<string, Value> => {
    const found = [...backends].flatMap(([name, backend]) => {
      const value = of(backend);
      return value === undefined ? [] : [[name, value] as const];
    });
    return Object.fromEntries(found.slice(0, most));
  };
  return JSON.stringify({
    hasEnvoy,
    clusters: [...clusters],
    refused: fact(50, ({ refused }) => refused),
    unreachable: fact(maxNames, ({ unreachable }) => unreachable),
    out: [...out].slice(0, maxNames),
    failing: fact(maxBackends, ({ failing }) => failing),
    isUntried: fact(maxBackends, ({ isUntried }) => isUntried || undefined),
    differs: fact(maxBackends, ({ differs }) => differs?.slice(0, maxTextLength)),
    unlisted: [...unlisted].slice(0, maxNames),
    vectors: Object.fromEntries(
      [...vectors]
        .slice(0, maxBackends)
        .map(([route, fault]) => [route, { ...fault, text: fault.text.slice(0, maxTextLength) }]),
    ),
    endpoints: fact(maxBackends, ({ endpoints }) => endpoints && shortened(endpoints)),
  });
}

/** The endpoints in the form for a lease; undefined: all endpoints get requests. */
function shortened({ total, healthy, ejected, failing, trouble }: ObservedEndpoints): object | undefined {
  if (healthy === total && total > 0) return undefined;
  return {
    total,
    healthy,
    ejected,
    failing: failing.slice(0, maxEndpoints),
    trouble: trouble?.slice(0, maxTextLength),
  };
}

/** Reads the text of a replica; undefined when another version of the service wrote it in another form. */
function readText(name: string, text: string): ObservedCatalog | undefined {
  try {
    const { hasEnvoy, clusters, out, unlisted, vectors, ...facts } = writtenCatalog.parse(JSON.parse(text));
    const backends = new Set(Object.values(facts).flatMap((byBackend) => Object.keys(byBackend)));
    return {
      name: name.slice(prefix.length),
      hasEnvoy,
      clusters: new Set(clusters),
      backends: new Map([...backends].map((backend) => [backend, readBackend(facts, backend)])),
      out: new Set(out),
      unlisted: new Set(unlisted),
      vectors: new Map(Object.entries(vectors)),
    };
  } catch {
    return undefined;
  }
}

function readBackend(
  {
    refused,
    unreachable,
    failing,
    isUntried,
    differs,
    endpoints,
  }: Pick<WrittenCatalog, 'refused' | 'unreachable' | 'failing' | 'isUntried' | 'differs' | 'endpoints'>,
  name: string,
): ObservedBackend {
  return {
    refused: refused[name],
    unreachable: unreachable[name],
    failing: failing[name],
    isUntried: isUntried[name] ?? false,
    differs: differs[name],
    endpoints: endpoints[name] && readEndpoints(endpoints[name]),
  };
}

function readEndpoints({
  total,
  healthy,
  failing,
  trouble,
  ...written
}: WrittenCatalog['endpoints'][string]): ObservedEndpoints {
  const ejected = written.ejected ?? failing.filter(({ why }) => why !== 'health-check').length;
  return { total, healthy, ejected, unhealthy: Math.max(0, total - healthy - ejected), failing, trouble };
}
