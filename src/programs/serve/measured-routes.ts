import type { Cluster, Route, Snapshot } from '../../core/catalog.ts';
import { type HealthChecks, watchHealthChecks } from '../../control/reconcilers/health-checks.ts';
import { type Probes, watchBackends } from '../../control/reconcilers/probe-backends.ts';
import type { ReferenceStore } from '../../control/reconcilers/store-port.ts';
import { watchVectors } from '../../control/reconcilers/watch-vectors.ts';
import { chatErrors } from '../../gateway/dialects/engine/read-error.ts';
import { createAskVectors } from '../../gateway/request/ask-vectors.ts';
import { createAnswerLengths } from '../../gateway/metering/expected-output.ts';
import { systemClock } from '../../process/clock.ts';
import { createHealth, type LiveHealth } from '../../gateway/routing/health/health.ts';
import type { Settings } from '../../process/settings/settings.ts';
import { createErrorCounts } from '../../telemetry/performance/error-counts.ts';
import { createModelPerformance } from '../../telemetry/performance/model-performance.ts';
import { thresholds } from '../../telemetry/performance/thresholds.ts';
import type { EnvoyParts } from './envoy-parts.ts';
import type { Gates } from './logged-parts.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';
import type { OpenStore } from '../../books/store/connect-store.ts';
import { openPools } from './open-pools.ts';

const routesOf = ({ models }: Snapshot): readonly Route[] => [...models.values()].flatMap(({ routes }) => routes);

/**
 * Callers who use the list of models send no request to a model that is not on it. So a route whose engine lists its models,
 * but whose last requests failed, gets one once there was none for a while. It stays a problem until that one succeeds.
 */
export function isOnTrial(
  route: Route,
  {
    now,
    health,
    probes,
    checks,
  }: {
    /** By `Clock.elapsed`. */
    readonly now: number;
    readonly health: Pick<LiveHealth, 'record'>;
    readonly probes: Pick<Probes, 'of'>;
    readonly checks: Pick<HealthChecks, 'hasEndpoint'>;
  },
): boolean {
  const { cluster } = route.backend;
  const { triedAt = Infinity } = health.record(route);
  if (now - triedAt < thresholds.untriedMs || !checks.hasEndpoint(cluster)) return false;
  const probe = probes.of(cluster.name);
  // Nobody can ask an engine behind a forward proxy for its models.
  if (cluster.proxy !== undefined) return true;
  return probe !== undefined && probe.at > triedAt && probe.answer.kind !== 'fails';
}

/** Measures the routes that are served: their endpoints, their errors, and the length of their answers. */
export function measureRoutes(
  settings: Settings,
  {
    envoy: { clusters, endpoints, egress },
    references,
    changes,
    log,
    common,
    sharing,
  }: Pick<Gates, 'common' | 'sharing'> & {
    readonly envoy: Pick<EnvoyParts, 'clusters' | 'endpoints' | 'egress'>;
    readonly references: ReferenceStore;
    readonly changes: OpenStore['changes'];
    readonly log: PartLog;
  },
) {
  const pools = openPools(settings, { common, sharing, endpoints });
  const vectors = watchVectors({
    ...{ clock: systemClock, endpoints, store: references, changes, log },
    ask: createAskVectors({ upstream: egress, clock: systemClock }),
  });
  const health = createHealth({
    ...{ clock: systemClock, random: Math.random, endpoints, pools },
    admitted: vectors.admitted,
  });
  const errors = createErrorCounts(systemClock);
  let served: readonly Cluster[] = [];
  let servedAt = systemClock.now();
  const checks = watchHealthChecks({ clock: systemClock, envoy: clusters, clusters: () => served, endpoints });
  const probes = watchBackends({
    clock: systemClock,
    endpoints,
    readError: chatErrors.read,
    health,
    onRecovered: (routes) => {
      errors.recovered(routes);
      // An engine that is back may be another one.
      vectors.recheck(routes);
    },
  });
  /** Whether an endpoint passes its health check, is neither ejected nor cooling off, and answers probes. */
  const isWell = (route: Route): boolean =>
    health.isServing(route, checks.isUsed(route.backend.name)) && !probes.isDown(route);
  /** Whether an endpoint may serve the route, as far as its vectors are known. */
  const hasVectors = (route: Route): boolean => {
    const isAdmitted = vectors.admitted(route);
    return isAdmitted === undefined || endpoints.of(route.backend.cluster.name).some(({ name }) => isAdmitted(name));
  };
  /** Whether requests are sent to the route, or its next request finds out whether it works. */
  const isServing = (route: Route): boolean =>
    isWell(route) || (hasVectors(route) && isOnTrial(route, { now: systemClock.elapsed(), health, probes, checks }));
  const measured = createModelPerformance({
    clock: systemClock,
    hasRoute: ({ routes }) => routes.some(isServing),
    isReachable: ({ routes }) => routes.some(({ backend }) => checks.hasEndpoint(backend.cluster)),
  });
  const answerLengths = createAnswerLengths();
  return {
    ...{ pools, vectors, health, checks, probes, isWell, isServing, measured, errors, answerLengths },
    /** When the snapshot that is served was taken. */
    servedAt: () => servedAt,
    /** From now on, this snapshot is served. */
    follow: (snapshot: Snapshot): void => {
      served = snapshot.clusters;
      vectors.follow(snapshot);
      const routes = routesOf(snapshot);
      health.retain(routes);
      probes.follow(routes);
      pools.follow(snapshot);
      measured.retain(snapshot.models);
      errors.retain(snapshot);
      servedAt = systemClock.now();
      answerLengths.retain(snapshot.models);
    },
  };
}
