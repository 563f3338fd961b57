/** Asks the engines of pools for their load, to find out what others send them. */
import { type Backend, isProvider, type Route } from '../../core/catalog.ts';
import { type Clock, every } from '../../core/clock.ts';
import type { Endpoint, Endpoints } from '../../core/endpoint.ts';
import { type EngineLoads, readEngineLoad } from '../../gateway/core/engine-load.ts';
import { engines } from '../../gateway/engines/engines.ts';
import type { MetricsReader } from '../../gateway/egress/read-metrics.ts';

interface EngineLoadsOptions {
  readonly clock: Pick<Clock, 'after' | 'elapsed'>;
  readonly endpoints: Endpoints;
  readonly loads: EngineLoads;
  readonly reader: MetricsReader;
}

const askEveryMs = 1000;
/** Most endpoints that are asked in one second. Of more, the ones whose last answer is oldest. */
const maxAsked = 64;
/** An engine that has not answered in time, or could not be reached, is left alone for twice as long each time, up to this, ms. */
const maxFailedMs = 32_000;
/** An engine that has no metrics, or whose metrics do not have its load, is asked again after so long, ms. */
const absentMs = 300_000;

interface Target {
  readonly backend: Backend;
  readonly endpoint: Endpoint;
}

interface Asked {
  readonly at: number;
  /** Infinity: it is being asked. */
  readonly againAt: number;
  /** How many times in a row it has not answered. */
  readonly failures: number;
}

const never: Asked = { at: -Infinity, againAt: 0, failures: 0 };
const keyOf = ({ backend, endpoint }: Target): string => `${backend.cluster.name} ${endpoint.name}`;

/** The path of an engine's metrics: beside `/v1`, under the prefix that a proxy in front of it may have. */
export const metricsPathOf = ({ path }: Pick<Backend, 'path'>): string => `${path.replace(/\/v1$/, '')}/metrics`;

/**
 * Asks each engine of a pool in use once a second at most. Nothing waits for an answer. Where there is none, the pool is used with what
 * Weir itself knows.
 */
export function followEngineLoads({ clock, endpoints, loads, reader }: EngineLoadsOptions) {
  let backends: readonly Backend[] = [];
  let asked = new Map<string, Asked>();

  /** The endpoints of pools in use. A backend with one endpoint has nothing to choose. */
  const inUse = (now: number): readonly Target[] =>
    backends
      .filter(({ cluster }) => loads.isUsed(now, cluster.name))
      .flatMap((backend) => {
        const all = endpoints.of(backend.cluster.name);
        return all.length < 2 ? [] : all.map((endpoint) => ({ backend, endpoint }));
      });

  function step(): void {
    const now = clock.elapsed();
    const all = inUse(now);
    const lastOf = (target: Target): Asked => asked.get(keyOf(target)) ?? never;
    const due = all.filter((target) => lastOf(target).againAt <= now).toSorted((a, b) => lastOf(a).at - lastOf(b).at);
    const present = new Set(all.map(keyOf));
    // What is known of a pool that is not used now stays, so that an engine without metrics is not asked more often for it.
    asked = new Map([...asked].filter(([key, { againAt }]) => present.has(key) || againAt > now));
    for (const target of due.slice(0, maxAsked)) void ask(target);
  }

  async function ask(target: Target): Promise<void> {
    const { backend, endpoint } = target;
    const at = clock.elapsed();
    const before = asked.get(keyOf(target)) ?? never;
    asked.set(keyOf(target), { ...before, at, againAt: Infinity });
    const answered = loads.asked(at, { pool: backend.cluster.name, endpoint: endpoint.name });
    const answer = await reader.read({
      cluster: backend.cluster,
      endpoint: endpoint.name,
      authority: endpoint.authority,
      path: metricsPathOf(backend),
      headers: backend.headers,
    });
    const { loadGauges } = engines[backend.engine];
    const load = answer.kind === 'metrics' && loadGauges ? readEngineLoad(loadGauges, answer.text) : undefined;
    const now = clock.elapsed();
    if (load !== undefined) answered(now, load);
    const failures = answer.kind === 'failed' ? before.failures + 1 : 0;
    const waitMs = failures > 0 ? Math.min(maxFailedMs, askEveryMs * 2 ** (failures - 1)) : absentMs;
    asked.set(keyOf(target), { at, failures, againAt: load === undefined ? at + waitMs : now });
  }

  const stop = every(clock, askEveryMs, step);
  return {
    /** Asks the engines of these routes, and no others. */
    follow: (routes: Iterable<Route>): void => {
      const byCluster = new Map<string, Backend>();
      for (const { backend } of routes)
        if (engines[backend.engine].loadGauges && !isProvider(backend) && backend.cluster.proxy === undefined)
          byCluster.set(backend.cluster.name, backend);
      backends = [...byCluster.values()];
      reader.retain(new Set(byCluster.keys()));
    },
    close: (): void => {
      stop();
      reader.close();
    },
  };
}
