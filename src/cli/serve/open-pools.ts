import { randomUUID } from 'node:crypto';
import { systemClock } from '../../process/clock.ts';
import { sharePools } from '../../rate-limits/shared-pools.ts';
import type { PoolsOfReplica } from '../../routing/health/health.ts';
import { createPools } from '../../routing/pool/pools.ts';
import type { Settings } from '../../settings.ts';
import type { Gates } from './logged-parts.ts';

export interface OpenPools extends PoolsOfReplica {
  readonly close: () => void;
}

/**
 * Opens the pools of the backends' endpoints. Replicas share them through Valkey. Without Valkey, or while it is down, several replicas
 * are apart. Never waits for Valkey.
 */
export function openPools(
  { WEIR_REPLICAS: replicas }: Pick<Settings, 'WEIR_REPLICAS'>,
  { common, sharing }: Pick<Gates, 'common' | 'sharing'>,
): OpenPools {
  const pools = createPools({ isReported: common !== undefined });
  if (common === undefined || sharing === undefined) {
    return { pools, isApart: () => replicas > 1, close: () => undefined };
  }
  const shared = sharePools({ link: common, clock: systemClock, newId: randomUUID, pools });
  return { pools, isApart: () => !shared.isShared() && sharing.replicas() > 1, close: shared.close };
}
