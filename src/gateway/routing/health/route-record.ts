import type { Fault } from '../../../core/event.ts';
import { withSteadySentence } from '../../../core/fault-cause.ts';

/**
 * The results of a route's last requests, for operators. Ejection has its own rules. There, a prompt that fails repeatedly counts
 * once, so that one caller cannot eject a route. Here, each failure counts, so that a probe that always sends the same prompt finds
 * a dead engine. A failure is forgotten when something succeeds, however long that takes.
 */
export interface RouteRecord {
  /** When it last answered a request, by `Clock.elapsed`; undefined: never. */
  readonly answeredAt: number | undefined;
  /** The last requests failed: since when, how many in a row, and the last fault. Undefined after a success. */
  readonly failing:
    | { readonly since: number; readonly at: number; readonly failures: number; readonly fault: Fault }
    | undefined;
  /** Why the last request that found no room was refused: the engine is full, or its limit or quota is used up. Undefined after a success. */
  readonly refusal: Fault | undefined;
  /** When its last attempt ended, whatever it came to; undefined: never. */
  readonly triedAt: number | undefined;
}

/** Whether an answer to a question for the list of models shows that a fault is over. */
export type RulesOut = (fault: Fault) => boolean;

export type RouteRecorder = ReturnType<typeof createRouteRecorder>;

export function createRouteRecorder() {
  let record: RouteRecord = { answeredAt: undefined, failing: undefined, refusal: undefined, triedAt: undefined };
  return {
    tried: (now: number): void => {
      record = { ...record, triedAt: now };
    },
    answered: (now: number): void => {
      record = { answeredAt: now, failing: undefined, refusal: undefined, triedAt: now };
    },
    failed: (now: number, fault: Fault): void => {
      const { since = now, failures = 0, fault: last } = record.failing ?? {};
      const failing = { since, at: now, failures: failures + 1, fault: withSteadySentence(fault, last) };
      record = { ...record, failing, triedAt: now };
    },
    refused: (now: number, fault: Fault): void => {
      record = { ...record, refusal: fault, triedAt: now };
    },
    /** Forgets the failures if the last fault is over. */
    recovered: (rulesOut: RulesOut): void => {
      const { failing, refusal } = record;
      if (failing !== undefined && rulesOut(failing.fault)) record = { ...record, failing: undefined };
      if (refusal !== undefined && rulesOut(refusal)) record = { ...record, refusal: undefined };
    },
    record: (): RouteRecord => record,
  };
}
