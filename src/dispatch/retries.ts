import type { Feature } from '../core/capability.ts';
import type { Clock } from '../core/clock.ts';
import { type EngineError, type Fault, isEngineFailure, type RefusedFor } from '../core/event.ts';
import type { DispatchEnd } from './dispatch.ts';

/** Whether a request that failed on one route is tried on another: always, but for what the request itself may be to blame for. */
export interface RetryPolicy {
  readonly mayRetry: (fault: Fault) => boolean;
  /** The end, with the reason where the policy knows more than the attempts do. */
  readonly explain: (end: DispatchEnd) => DispatchEnd;
}

export interface RetryPolicyOptions {
  /** On how many routes engines failed on the same prompt lately, none of which answered it. */
  readonly failedOn: number;
  readonly routes: number;
  /** Takes one of the caller's retries of answers that miss their structure. */
  readonly spend: () => boolean;
}

/** A prompt that failed on so many routes is tried on no more than so many when it comes again. */
const enoughRoutes = 2;

export function createRetryPolicy({ failedOn, routes, spend }: RetryPolicyOptions): RetryPolicy {
  const isRepeated = failedOn >= Math.min(enoughRoutes, routes);
  let failures = 0;
  return {
    mayRetry: (fault) => {
      if (fault.kind === 'structure') return spend();
      if (isEngineFailure(fault)) failures += 1;
      return !isRepeated || failures < enoughRoutes;
    },
    explain: (end) =>
      isRepeated && end.kind === 'failed' && end.refusedFor === 'other'
        ? { ...end, refusedFor: 'repeated-failure' }
        : end,
  };
}

/**
 * Bounds what one caller's defective answers cost: how many of its answers that are not of the structure asked for are tried
 * again on another route. A caller is the id of an API key.
 */
export interface StructureRetries {
  /** An answer had its structure: its caller earns its share of a retry. */
  readonly earn: (caller: string) => void;
  /** Takes one retry. False: the caller has none left. */
  readonly spend: (caller: string) => boolean;
}

/** Retries that are saved up at most: a route that turns defective is left out after a few. */
const most = 10;
/** Retries for each sound answer: one defective answer in three is always tried again. */
const share = 0.5;
/** A caller without sound answers gets a retry each minute. */
const perMs = 1 / 60_000;
/** The caller that was not seen for longest is forgotten first, and begins anew. */
const mostCallers = 10_000;

interface Saved {
  readonly retries: number;
  readonly at: number;
}

export function createStructureRetries({ clock }: { readonly clock: Pick<Clock, 'elapsed'> }): StructureRetries {
  const saved = new Map<string, Saved>();

  function save(caller: string, retries: number): void {
    saved.delete(caller);
    // Who has them all needs no remembering.
    if (retries < most) saved.set(caller, { retries, at: clock.elapsed() });
    const [oldest] = saved.keys();
    if (saved.size > mostCallers && oldest !== undefined) saved.delete(oldest);
  }

  function retriesOf(caller: string): number {
    const { retries, at } = saved.get(caller) ?? { retries: most, at: 0 };
    return Math.min(most, retries + (clock.elapsed() - at) * perMs);
  }

  return {
    earn: (caller) => {
      if (saved.has(caller)) save(caller, Math.min(most, retriesOf(caller) + share));
    },
    spend: (caller) => {
      const retries = retriesOf(caller);
      if (retries < 1) return false;
      save(caller, retries - 1);
      return true;
    },
  };
}

/** What the faults of a request's attempts say of the request itself. */
export interface Refusal {
  readonly refusedFor?: RefusedFor | undefined;
  /** The part of the request that the engines' errors name. */
  readonly about?: Feature | undefined;
}

/** Errors that the same request gets again, whenever it is sent to the same engine. */
const ofTheRequest: ReadonlySet<EngineError | undefined> = new Set([
  ...(['bad-request', 'context-length', 'content-policy'] as const),
]);

const isFault = ({ kind, engineError }: Fault): boolean => kind === 'structure' || ofTheRequest.has(engineError);

/**
 * Reads the faults of all attempts of a request that no route answered. One reason that they share is the reason. Several
 * that are all the request's own are a request that cannot be taken as it is. Where some routes found fault with the request
 * and others failed, nobody knows what the failed ones would have said.
 */
export function refusalOf(faults: readonly Fault[]): Refusal {
  const reasons = new Set(faults.map(({ kind, engineError }) => (kind === 'structure' ? kind : engineError)));
  const about = faults.find((fault) => fault.about !== undefined)?.about;
  const [reason] = reasons;
  if (reasons.size === 1) return { refusedFor: reason, about };
  if (faults.length > 0 && faults.every(({ engineError }) => ofTheRequest.has(engineError))) {
    return { refusedFor: 'bad-request', about };
  }
  return { refusedFor: faults.some(isFault) ? 'disputed' : undefined };
}
