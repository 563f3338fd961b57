/** Envoy's health checks: which backends pass, and the answer of each endpoint that fails. */
import type { Cluster } from '../../core/catalog.ts';
import { type Clock, every } from '../../core/clock.ts';
import type { Endpoints } from '../../core/endpoint.ts';
import type { HealthCheckAnswer } from '../../core/observed-catalog.ts';
import { checkEndpoint } from '../../gateway/egress/check-endpoint.ts';
import type { ClusterPublisher, EnvoyClusters } from '../envoy/runtime/cluster-publisher.ts';
import { envoyEndpoints, unreachableBy } from './observe-endpoints.ts';

interface HealthChecksOptions {
  readonly clock: Pick<Clock, 'after' | 'elapsed'>;
  readonly envoy: Pick<ClusterPublisher, 'look'>;
  readonly endpoints: Endpoints;
  /** The clusters of the catalog that is served. */
  readonly clusters: () => readonly Cluster[];
  /** Sends the request of a health check to an endpoint. Never rejects. */
  readonly check?: typeof checkEndpoint;
}

export type HealthChecks = ReturnType<typeof watchHealthChecks>;

const lookEveryMs = 1_000;
/**
 * Looks in a row that must find an endpoint unhealthy. One is not enough: a new pod is unhealthy to Envoy until its
 * first check.
 */
const looksToFail = 2;
/**
 * Shortest time between two questions to an endpoint. Envoy reports only that a check failed, so the service asks the
 * endpoint itself for the reason.
 */
const checkEveryMs = 10_000;
/** Most endpoints that are asked in one look. */
const maxChecked = 20;

interface Checked {
  readonly at: number;
  readonly answer: HealthCheckAnswer;
}

interface Failing {
  readonly cluster: Cluster;
  readonly endpoint: string;
}

/** Looks at Envoy once a second while some backend declares a health check. */
export function watchHealthChecks(options: HealthChecksOptions) {
  const { clock, envoy, clusters, endpoints, check = checkEndpoint } = options;
  /** Backends without a healthy endpoint, each with the number of looks in a row with that result. */
  let unhealthy: ReadonlyMap<string, number> = new Map();
  /** Endpoints that fail, by backend, each with the number of looks in a row with that result. */
  let failing: ReadonlyMap<string, ReadonlyMap<string, number>> = new Map();
  let answers: ReadonlyMap<string, Checked> = new Map();

  async function look(): Promise<void> {
    const checked = clusters().filter(({ healthCheck }) => healthCheck !== undefined);
    const seen = checked.length === 0 ? { active: new Set<string>(), endpoints: new Map() } : await envoy.look();
    // While Envoy does not answer, the last result stays.
    if (seen === undefined) return;
    const down = checked.filter((cluster) => isUnhealthy(cluster, seen));
    unhealthy = new Map(down.map(({ backend }) => [backend, (unhealthy.get(backend) ?? 0) + 1]));
    const now = checked.map((cluster) => ({ cluster, names: failingOf(cluster, seen) }));
    failing = new Map(
      now.map(({ cluster: { backend }, names }) => {
        const before = failing.get(backend);
        return [backend, new Map(names.map((endpoint) => [endpoint, (before?.get(endpoint) ?? 0) + 1]))];
      }),
    );
    await askAll(now.flatMap(({ cluster, names }) => names.map((endpoint): Failing => ({ cluster, endpoint }))));
  }

  /** Asks the endpoints whose last answer is old. Forgets the answers of endpoints that pass again. */
  async function askAll(all: readonly Failing[]): Promise<void> {
    const now = clock.elapsed();
    const kept = new Map<string, Checked>();
    const due: Failing[] = [];
    for (const one of all) {
      const last = answers.get(keyOf(one));
      if (last !== undefined) kept.set(keyOf(one), last);
      if (last === undefined || now - last.at >= checkEveryMs) due.push(one);
    }
    await Promise.all(
      due.slice(0, maxChecked).map(async (one) => {
        const { cluster, endpoint } = one;
        const authority = endpoints.of(cluster.name).find(({ name }) => name === endpoint)?.authority ?? endpoint;
        kept.set(keyOf(one), { at: now, answer: await check(cluster, { endpoint, authority }) });
      }),
    );
    answers = kept;
  }

  // A look that fails is repeated. Until then the last result stays.
  const close = every(clock, lookEveryMs, () => look().catch(() => undefined));

  const isUsed = (backend: string): ((endpoint: string) => boolean) => {
    if ((unhealthy.get(backend) ?? 0) >= looksToFail) return () => false;
    const names = failing.get(backend);
    return (endpoint) => (names?.get(endpoint) ?? 0) < looksToFail;
  };

  return {
    /**
     * Whether Envoy sends requests to an endpoint of a backend, according to its health checks: false once Envoy has
     * found the endpoint, or all endpoints of the backend, unhealthy at two looks in a row. True if no health check is
     * declared, and until the first result.
     */
    isUsed,
    /** Whether Envoy has an endpoint of a cluster to send requests to. */
    hasEndpoint: ({ name: cluster, backend }: Pick<Cluster, 'name' | 'backend'>): boolean => {
      const isUsedHere = isUsed(backend);
      return endpoints.of(cluster).some(({ name }) => isUsedHere(name));
    },
    /** The last answer of an endpoint that fails its health check; undefined where it is not known. */
    answerOf: (backend: string, endpoint: string): HealthCheckAnswer | undefined =>
      answers.get(`${backend} ${endpoint}`)?.answer,
    close,
  };
}

const keyOf = ({ cluster, endpoint }: Failing): string => `${cluster.backend} ${endpoint}`;

/** A cluster that Envoy is still warming has no results yet. */
function failingOf(cluster: Cluster, envoy: EnvoyClusters): readonly string[] {
  const failing = envoyEndpoints(envoy, cluster)?.failing ?? [];
  return failing.flatMap(({ endpoint, why }) => (why === 'health-check' ? [endpoint] : []));
}

/** Whether Envoy has a cluster with endpoints, and no healthy one. A cluster that Envoy is still warming has no results yet. */
function isUnhealthy(cluster: Cluster, envoy: EnvoyClusters): boolean {
  const counts = envoyEndpoints(envoy, cluster);
  return counts !== undefined && unreachableBy(counts) === 'unhealthy';
}
