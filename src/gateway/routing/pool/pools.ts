import type { EngineLoads } from '../../core/engine-load.ts';
import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import type { PoolPlace, PoolReports, SentPrompt } from '../../core/pool-report.ts';
import { createEndpointPool, type EndpointPool } from './pool.ts';

/** The pools of all backends, and what the replicas know of each other's work. */
export interface Pools extends PoolReports, EngineLoads {
  readonly of: (pool: string) => EndpointPool;
  /** Forgets the other pools. */
  readonly retain: (pools: ReadonlySet<string>) => void;
}

/** Most prompts of one report. Those beyond it are unknown to the other replicas. */
const maxPrompts = 256;
/** Most blocks of a prompt that are reported: four megabytes of text. */
const maxDigests = 1024;
/** Most blocks of one report, about: 55 KB of text. */
const maxBlocks = 4096;
/** Work under way is repeated after so long, ms. */
const repeatMs = 250;
/** A replica that is silent for so long is gone, ms. */
const silentMs = 1000;

interface OtherReplica {
  heardAt: number;
  readonly work: Map<string, PoolPlace>;
}

const keyOf = ({ pool, endpoint }: PoolPlace): string => `${pool} ${endpoint}`;

/** `isReported`: `takeReport` is called. Otherwise nothing is kept for it. */
export function createPools({ isReported }: { readonly isReported: boolean }): Pools {
  const pools = new Map<string, EndpointPool>();
  const others = new Map<string, OtherReplica>();
  /** Endpoints with a change that was not reported. */
  const changed = new Map<string, PoolPlace>();
  /** Endpoints whose last report had work under way. */
  const busy = new Map<string, PoolPlace>();
  let sent: SentPrompt[] = [];
  let sentBlocks = 0;
  let reportedAt = 0;

  function changedAt(place: PoolPlace, prompt: PoolPrompt | undefined): void {
    changed.set(keyOf(place), place);
    if (prompt === undefined || sent.length >= maxPrompts || sentBlocks >= maxBlocks) return;
    sent.push({ ...place, prompt: bounded(prompt) });
    sentBlocks += prompt.digests.length;
  }

  function of(pool: string): EndpointPool {
    return pools.getOrInsertComputed(pool, () =>
      createEndpointPool(
        isReported ? { changed: (endpoint, prompt) => changedAt({ pool, endpoint }, prompt) } : undefined,
      ),
    );
  }

  return {
    of,
    hasReport: (now) => changed.size > 0 || (busy.size > 0 && now - reportedAt >= repeatMs),
    takeReport: (now) => {
      const isRepeated = now - reportedAt >= repeatMs;
      const endpoints = [...new Map([...(isRepeated ? busy : []), ...changed])].flatMap(([key, place]) => {
        const own = pools.get(place.pool)?.endpoint(place.endpoint).takeReport(now);
        if (own === undefined || own.underWay === 0) busy.delete(key);
        else busy.set(key, place);
        return own === undefined ? [] : [{ ...place, ...own }];
      });
      if (isRepeated) reportedAt = now;
      const report = { endpoints, sent };
      changed.clear();
      sent = [];
      sentBlocks = 0;
      return report;
    },
    heard: (now, replica, { endpoints, sent: prompts }) => {
      const other = others.getOrInsertComputed(replica, () => ({ heardAt: now, work: new Map<string, PoolPlace>() }));
      other.heardAt = now;
      for (const { pool, endpoint, ...reported } of endpoints) {
        const key = keyOf({ pool, endpoint });
        of(pool).endpoint(endpoint).heard(replica, reported);
        if (reported.underWay === 0) other.work.delete(key);
        else other.work.set(key, { pool, endpoint });
      }
      for (const { pool, endpoint, prompt } of prompts) of(pool).sentByOther(now, { name: endpoint, prompt });
    },
    isUsed: (now, name) => pools.get(name)?.isUsed(now) === true,
    asked: (now, { pool, endpoint }) => of(pool).endpoint(endpoint).asked(now),
    forgetSilent: (now) => {
      for (const [replica, { heardAt, work }] of others) {
        if (now - heardAt < silentMs) continue;
        for (const { pool, endpoint } of work.values()) pools.get(pool)?.endpoint(endpoint).lost(replica);
        others.delete(replica);
      }
    },
    retain: (names) => {
      for (const name of pools.keys()) if (!names.has(name)) pools.delete(name);
    },
  };
}

function bounded({ digests, ends, tokens }: PoolPrompt): PoolPrompt {
  if (digests.length <= maxDigests) return { digests, ends, tokens };
  return { digests: digests.slice(0, maxDigests), ends: ends.slice(0, maxDigests), tokens };
}
