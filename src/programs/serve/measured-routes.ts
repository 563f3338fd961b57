import type { Cluster, Route, Snapshot } from '../../core/catalog.ts';
import { watchHealthChecks } from '../../control/reconcilers/health-checks.ts';
import { watchBackends } from '../../control/reconcilers/probe-backends.ts';
import { chatErrors } from '../../gateway/dialects/engine/read-error.ts';
import { createAnswerLengths } from '../../gateway/metering/expected-output.ts';
import { systemClock } from '../../process/clock.ts';
import { createHealth } from '../../gateway/routing/health/health.ts';
import type { Settings } from '../../process/settings/settings.ts';
import { createErrorCounts } from '../../telemetry/performance/error-counts.ts';
import { createModelPerformance } from '../../telemetry/performance/model-performance.ts';
import type { EnvoyParts } from './envoy-parts.ts';
import type { Gates } from './logged-parts.ts';
import { openPools } from './open-pools.ts';

const routesOf = ({ models }: Snapshot): readonly Route[] => [...models.values()].flatMap(({ routes }) => routes);

/** Measures the routes that are served: their endpoints, their errors, and the length of their answers. */
export function measureRoutes(
  settings: Settings,
  {
    envoy: { clusters, endpoints },
    common,
    sharing,
  }: Pick<Gates, 'common' | 'sharing'> & { readonly envoy: Pick<EnvoyParts, 'clusters' | 'endpoints'> },
) {
  const pools = openPools(settings, { common, sharing, endpoints });
  const health = createHealth({ clock: systemClock, random: Math.random, endpoints, pools });
  let served: readonly Cluster[] = [];
  let servedAt = systemClock.now();
  const checks = watchHealthChecks({ clock: systemClock, envoy: clusters, clusters: () => served, endpoints });
  const probes = watchBackends({
    clock: systemClock,
    endpoints,
    readError: chatErrors.read,
    isFailing: (routes) => routes.some((route) => health.record(route).failing !== undefined),
  });
  /** Whether an endpoint passes its health check, and is neither ejected nor cooling off. */
  const isServing = (route: Route): boolean => health.isServing(route, checks.isUsed(route.backend.name));
  const measured = createModelPerformance({
    clock: systemClock,
    hasRoute: ({ routes }) => routes.some(isServing),
    isReachable: ({ routes }) => routes.some(({ backend }) => checks.hasEndpoint(backend.cluster)),
  });
  const errors = createErrorCounts(systemClock);
  const answerLengths = createAnswerLengths();
  return {
    ...{ pools, health, checks, probes, isServing, measured, errors, answerLengths },
    /** When the snapshot that is served was taken. */
    servedAt: () => servedAt,
    /** From now on, this snapshot is served. */
    follow: (snapshot: Snapshot): void => {
      served = snapshot.clusters;
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
