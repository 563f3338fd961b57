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
  /** Longest silence of an attempt, milliseconds. */
  readonly idleMs: number;
}
