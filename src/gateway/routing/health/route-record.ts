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

export interface RouteRecorder {
  readonly tried: (now: number) => void;
  readonly answered: (now: number) => void;
  readonly failed: (now: number, fault: Fault) => void;
  readonly refused: (now: number, fault: Fault) => void;
  /** Forgets the failures if the last fault is over. */
  readonly recovered: (rulesOut: RulesOut) => void;
  readonly record: () => RouteRecord;
}

export function createRouteRecorder(): RouteRecorder {
  let record: RouteRecord = { answeredAt: undefined, failing: undefined, refusal: undefined, triedAt: undefined };
  return {
    tried: (now) => {
      record = { ...record, triedAt: now };
    },
    answered: (now) => {
      record = { answeredAt: now, failing: undefined, refusal: undefined, triedAt: now };
    },
    failed: (now, fault) => {
      const { since = now, failures = 0, fault: last } = record.failing ?? {};
      const failing = { since, at: now, failures: failures + 1, fault: withSteadySentence(fault, last) };
      record = { ...record, failing, triedAt: now };
    },
    refused: (now, fault) => {
      record = { ...record, refusal: fault, triedAt: now };
    },
    recovered: (rulesOut) => {
      const { failing, refusal } = record;
      if (failing !== undefined && rulesOut(failing.fault)) record = { ...record, failing: undefined };
      if (refusal !== undefined && rulesOut(refusal)) record = { ...record, refusal: undefined };
    },
    record: () => record,
  };
}
