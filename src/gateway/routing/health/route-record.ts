import type { Fault } from '../../../core/event.ts';

/**
 * The results of a route's last requests, for operators. Ejection has its own rules. There, a prompt that fails repeatedly counts
 * once, so that one caller cannot eject a route. Here, each failure counts, so that a probe that always sends the same prompt finds
 * a dead engine.
 */
export interface RouteRecord {
  /** When it last answered a request, by `Clock.elapsed`; undefined: not within the last ten minutes. */
  readonly answeredAt: number | undefined;
  /** The last requests failed: how many in a row, and the last fault. Undefined after a success, or ten minutes. */
  readonly failing: { readonly at: number; readonly failures: number; readonly fault: Fault } | undefined;
}

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
  const isPresent = (now: number, at: number): boolean => now - at < presentMs;
  return {
    answered: (now) => {
      answeredAt = now;
      failures = 0;
      last = undefined;
    },
    failed: (now, fault) => {
      failures += 1;
      last = { at: now, fault };
    },
    record: (now) => ({
      answeredAt: isPresent(now, answeredAt) ? answeredAt : undefined,
      failing: last === undefined || !isPresent(now, last.at) ? undefined : { ...last, failures },
    }),
  };
}
