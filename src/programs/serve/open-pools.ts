import { randomUUID } from 'node:crypto';
import { followEngineLoads } from '../../control/reconcilers/follow-engine-loads.ts';
import type { Snapshot } from '../../core/catalog.ts';
import { type BackendScale, type NoScale, scaleOf } from '../../gateway/core/backend-scale.ts';
import type { Endpoints } from '../../core/endpoint.ts';
import { createMetricsReader } from '../../gateway/egress/read-metrics.ts';
import { systemClock } from '../../process/clock.ts';
import { shareDemand } from '../../gateway/rate-limits/shared-demand.ts';
import { sharePools } from '../../gateway/rate-limits/shared-pools.ts';
import type { PoolsOfReplica } from '../../gateway/routing/health/health.ts';
import { type BackendDemands, createBackendDemands } from '../../gateway/routing/pool/backend-demands.ts';
import { createPools } from '../../gateway/routing/pool/pools.ts';
import type { Settings } from '../../process/settings/settings.ts';
import type { Gates } from './logged-parts.ts';

export interface OpenPools extends PoolsOfReplica {
  /** Asks the engines of a snapshot for their load, and follows the demand for its Backends. */
  readonly follow: (snapshot: Snapshot) => void;
  readonly demands: Pick<BackendDemands, 'unavailable' | 'read'>;
  /** How many endpoints a Backend needs, by the requests of all replicas. */
  readonly scale: (backend: string) => BackendScale | NoScale;
  readonly close: () => void;
}

/**
 * Opens the pools of the backends' endpoints. Replicas share them through Valkey. Without Valkey, or while it is down, several replicas
 * are apart. Never waits for Valkey, and never for an engine.
 */
export function openPools(
  { WEIR_REPLICAS: replicas }: Pick<Settings, 'WEIR_REPLICAS'>,
  { common, sharing, endpoints }: Pick<Gates, 'common' | 'sharing'> & { readonly endpoints: Endpoints },
): OpenPools {
  const pools = createPools({ isReported: common !== undefined });
  const shared = common && sharePools({ link: common, clock: systemClock, newId: randomUUID, pools });
  const isApart = (): boolean => shared?.isShared() !== true && (sharing?.replicas() ?? replicas) > 1;
  const loads = followEngineLoads({
    clock: systemClock,
    endpoints,
    // Replicas that are apart cannot distinguish each other's requests from those of others. All would leave the same endpoint at once.
    loads: { asked: pools.asked, isUsed: (now, pool) => !isApart() && pools.isUsed(now, pool) },
    reader: createMetricsReader(systemClock),
  });
  const demands = createBackendDemands({ pools, endpoints, clock: systemClock });
  const sharedDemand =
    common && shareDemand({ link: common, clock: systemClock, newId: randomUUID, read: demands.read });
  return {
    pools,
    isApart,
    scale: (backend) => {
      const own = demands.of(backend);
      if (typeof own === 'string') return own;
      const others = sharedDemand?.of(backend);
      const reporting = 1 + (others?.reporting ?? 0);
      const all = Math.max(reporting, sharing?.replicas() ?? replicas);
      // While Valkey does not answer, there may be replicas that this one does not know.
      const isWhole = reporting === all && (others !== undefined || sharedDemand === undefined);
      return scaleOf(backend, { demands: [own, ...(others?.demands ?? [])], replicas: all, reporting, isWhole });
    },
    demands,
    follow: (snapshot) => {
      loads.follow([...snapshot.models.values()].flatMap(({ routes }) => routes));
      demands.follow(snapshot);
    },
    close: () => {
      loads.close();
      shared?.close();
      sharedDemand?.close();
    },
  };
}
