import { type Clock, within } from '../../../core/clock.ts';
import type { EnvoyAdmin } from './admin.ts';

/** The number of requests of one backend, as counted by Envoy. */
interface UpstreamRequests {
  /** On a connection to an engine. */
  readonly active: number;
  /** Waiting for a connection that is not made yet. */
  readonly pending: number;
}

/** Longest wait for Envoy's answer. A call to an engine is given up only afterwards. */
const timeoutMs = 250;

const gauges = /^cluster\.(.*)\.upstream_rq_(pending_active|active)$/;

/**
 * Asks Envoy how many requests of a backend are on a connection, and how many still wait for one. Questions at the same time
 * share one answer of Envoy's. Resolves to undefined when Envoy does not know the backend or does not answer in time.
 */
export function createUpstreamRequests(options: {
  readonly admin: Pick<EnvoyAdmin, 'statsLike'>;
  readonly clock: Pick<Clock, 'after'>;
}): (backend: string) => Promise<UpstreamRequests | undefined> {
  const { admin, clock } = options;
  let latest: Promise<unknown> = Promise.resolve();
  let next: ReturnType<EnvoyAdmin['statsLike']> | undefined;

  function look(): ReturnType<EnvoyAdmin['statsLike']> {
    if (next !== undefined) return next;
    // A count that is already under way may be older than this request.
    const looking = latest.then(() => {
      next = undefined;
      return admin.statsLike(gauges.source);
    });
    next = looking;
    latest = looking.catch(() => undefined);
    return looking;
  }

  return async (backend) => {
    const stats = await within(timeoutMs, clock, look()).catch(() => undefined);
    const active = stats?.get(`cluster.${backend}.upstream_rq_active`);
    const pending = stats?.get(`cluster.${backend}.upstream_rq_pending_active`);
    return typeof active === 'number' && typeof pending === 'number' ? { active, pending } : undefined;
  };
}
