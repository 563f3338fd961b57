import type { Route } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import type { Health } from '../core/health.ts';
import type { Upstream } from '../core/upstream.ts';
import type { HedgeBudget } from './hedge.ts';

/** The services that attempts use. They outlive the request. */
export interface DispatchServices {
  readonly upstream: Upstream;
  readonly health: Health;
  readonly hedges: HedgeBudget;
  readonly clock: Clock;
  /** Longest silence of an attempt, milliseconds, where the Backend sets none. */
  readonly idleMs: number;
  /** The same until the first output on a route. Absent or undefined: `idleMs`. */
  readonly firstOutputMs?: ((route: Route) => number | undefined) | undefined;
}
