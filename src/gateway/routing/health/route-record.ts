import type { Fault } from '../../../core/event.ts';
import { failuresInARow } from '../../../core/observed-catalog.ts';

/**
 * The results of a route's last requests, for operators. Ejection has its own rules. There, a prompt that fails repeatedly counts
 * once, so that one caller cannot eject a route. Here, each failure counts, so that a probe that always sends the same prompt finds
 * a dead engine. `untried`: too few requests lately.
 */
export type RouteRecord =
  | { readonly kind: 'untried' }
  | { readonly kind: 'answers' }
  | { readonly kind: 'fails'; readonly fault: Fault };

/** Older results say nothing about the present. */
const presentMs = 600_000;

export interface RouteRecorder {
  readonly answered: (now: number) => void;
  readonly failed: (now: number, fault: Fault) => void;
  readonly record: (now: number) => RouteRecord;
}

export function createRouteRecorder(): RouteRecorder {
  let answeredAt = -Infinity;
  let failures = 0;
  let last: { readonly at: number; readonly fault: Fault } | undefined;
  return {
    answered: (now) => {
      answeredAt = now;
      failures = 0;
    },
    failed: (now, fault) => {
      failures += 1;
      last = { at: now, fault };
    },
    record: (now) => {
      if (failures >= failuresInARow && last !== undefined && now - last.at < presentMs) {
        return { kind: 'fails', fault: last.fault };
      }
      return now - answeredAt < presentMs ? { kind: 'answers' } : { kind: 'untried' };
    },
  };
}
