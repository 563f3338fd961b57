import type { Feature } from '../core/capability.ts';
import type { Clock } from '../core/clock.ts';
import { type Fault, isEngineFailure, isOfTheRequest, ofTheRequest, type RefusedFor } from '../core/event.ts';

/** Decides whether a request that failed on one route is tried on another: always, unless the request itself may be to blame. */
export interface RetryPolicy {
  /** Call it once for each fault that another route could follow: a permission is counted. */
  readonly mayRetry: (fault: Fault) => boolean;
  /** The reason of a failed request, where the policy knows more than its attempts do. */
  readonly explain: (refusedFor: RefusedFor | undefined) => RefusedFor | undefined;
}

export interface RetryPolicyOptions {
  /** In how many places engines failed on the same prompt lately, with nothing that answered it. */
  readonly failedOn: number;
  /** How many endpoints there are, over all routes. */
  readonly places: number;
  /** Takes one of the caller's retries of answers with the wrong structure. False: none is left. */
  readonly spendStructureRetry: () => boolean;
}

/** A prompt on which engines failed in so many places is tried in no more places than that when it comes again. */
const enoughPlaces = 2;

export function createRetryPolicy({ failedOn, places, spendStructureRetry }: RetryPolicyOptions): RetryPolicy {
  const isRepeated = failedOn >= Math.min(enoughPlaces, places);
  let failures = 0;
  return {
    mayRetry: (fault) => {
      if (fault.kind === 'structure') return spendStructureRetry();
      if (isEngineFailure(fault)) failures += 1;
      return !isRepeated || failures < enoughPlaces;
    },
    explain: (refusedFor) => (isRepeated && refusedFor === 'other' ? 'repeated-failure' : refusedFor),
  };
}

/** What the faults of a request's attempts say of the request itself. */
export interface AttemptRefusal {
  readonly refusedFor?: RefusedFor | undefined;
  /** The part of the request that the engines' errors name. */
  readonly about?: Feature | undefined;
}

/**
 * Reads the faults of all attempts of a request that no route answered. A reason that all of them share is the reason. Different
 * reasons that all lie in the request make it a bad request. Where some routes refused the request and others failed, the
 * refusal is disputed: what the failed routes would have said is not known.
 */
export function refusalOf(faults: readonly Fault[]): AttemptRefusal {
  const reasons = new Set(faults.map(({ kind, engineError }) => (kind === 'structure' ? kind : engineError)));
  const about = faults.find((fault) => fault.about !== undefined)?.about;
  const [reason] = reasons;
  if (reasons.size === 1) return { refusedFor: reason, about };
  if (faults.length > 0 && faults.every(({ engineError }) => ofTheRequest.has(engineError))) {
    return { refusedFor: 'bad-request', about };
  }
  return { refusedFor: faults.some(isOfTheRequest) ? 'disputed' : undefined };
}

/**
 * Limits what one caller's answers with the wrong structure cost: how many of them are tried again on another route. A caller is
 * the id of an API key.
 */
export interface StructureRetries {
  /** Call it for an answer with the right structure: its caller earns a share of a retry. */
  readonly earn: (caller: string) => void;
  /** Takes one retry. False: the caller has none left. */
  readonly spend: (caller: string) => boolean;
}

/** Most retries that are saved up. That is enough: a route whose answers have turned bad is left out after a few. */
const mostSaved = 10;
/** Retries for each valid answer: when one answer in three is invalid, each of them is tried again. */
const share = 0.5;
/** A caller without valid answers gets a retry each minute. */
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
    // A caller that has all its retries is like one that was never seen.
    if (retries < mostSaved) saved.set(caller, { retries, at: clock.elapsed() });
    const [oldest] = saved.keys();
    if (saved.size > mostCallers && oldest !== undefined) saved.delete(oldest);
  }

  function retriesOf(caller: string): number {
    const { retries, at } = saved.get(caller) ?? { retries: mostSaved, at: 0 };
    return Math.min(mostSaved, retries + (clock.elapsed() - at) * perMs);
  }

  return {
    earn: (caller) => {
      if (saved.has(caller)) save(caller, Math.min(mostSaved, retriesOf(caller) + share));
    },
    spend: (caller) => {
      const retries = retriesOf(caller);
      if (retries < 1) return false;
      save(caller, retries - 1);
      return true;
    },
  };
}
