import type { Feature } from '../../core/capability.ts';
import { endedByRepair } from '../../core/cause.ts';
import type { Clock } from '../../core/clock.ts';
import { type Fault, isEngineFailure, isOfTheRequest, ofTheRequest, type RefusedFor } from '../../core/event.ts';
import { causeOf } from '../../core/fault-cause.ts';
import { forgetOldest } from '../../core/put-newest.ts';

/** Decides whether another route is tried after a fault. Another route is tried unless the request itself may be the cause. */
export type RetryPolicy = ReturnType<typeof createRetryPolicy>;

export interface RetryPolicyOptions {
  /** On how many endpoints engines failed on the same prompt lately. An answer to the prompt resets this to 0. */
  readonly failedOn: number;
  /** How many endpoints there are, over all routes. */
  readonly places: number;
  /** Spends one of the caller's retries of answers with the wrong structure. False: none is left. */
  readonly spendStructureRetry: () => boolean;
}

/** A prompt that has failed on this number of endpoints is tried on no more than this number when it is sent again. */
const enoughPlaces = 2;

export function createRetryPolicy({ failedOn, places, spendStructureRetry }: RetryPolicyOptions) {
  const isRepeated = failedOn >= Math.min(enoughPlaces, places);
  let failures = 0;
  return {
    /** Call it once for each fault after which another route could be tried. It counts each permission. */
    mayRetry: (fault: Fault): boolean => {
      if (fault.kind === 'structure') return spendStructureRetry();
      if (isEngineFailure(fault)) failures += 1;
      return !isRepeated || failures < enoughPlaces;
    },
    /** Returns the reason of a failed request, which may be that the same prompt has failed before. */
    explain: (refusedFor: RefusedFor | undefined): RefusedFor | undefined =>
      isRepeated && refusedFor === 'other' ? 'repeated-failure' : refusedFor,
  };
}

/** Whether the request itself is the reason of the faults of its attempts. */
export interface AttemptRefusal {
  readonly refusedFor?: RefusedFor | undefined;
  /** The part of the request that the engines' errors name. */
  readonly about?: Feature | undefined;
  /** Every attempt failed for a cause that only an operator can end. Absent: a retry may help. */
  readonly isLasting?: true | undefined;
}

/**
 * Derives from the faults of its attempts why no route answered a request. If all faults have the same reason, this is the reason.
 * If they have different reasons that all lie in the request, it is a bad request. If some routes refused the request and others
 * failed, the refusal is disputed, because the failed routes might have answered.
 */
export function refusalOf(faults: readonly Fault[]): AttemptRefusal {
  const reasons = new Set(faults.map(({ kind, engineError }) => (kind === 'structure' ? kind : engineError)));
  const about = faults.find((fault) => fault.about !== undefined)?.about;
  const [reason] = reasons;
  // A refusal of the request has an error of its own, which recommends no retry either.
  const needsRepair = (fault: Fault): boolean => endedByRepair.has(causeOf(fault)) && !isOfTheRequest(fault);
  const isLasting = (faults.length > 0 && faults.every(needsRepair)) || undefined;
  if (reasons.size === 1) return { refusedFor: reason, about, isLasting };
  if (faults.length > 0 && faults.every(({ engineError }) => ofTheRequest.has(engineError))) {
    return { refusedFor: 'bad-request', about };
  }
  return { refusedFor: faults.some(isOfTheRequest) ? 'disputed' : undefined, isLasting };
}

/**
 * Limits how many of a caller's answers with the wrong structure are tried again on another route. A caller is the id of an API
 * key.
 */
export type StructureRetries = ReturnType<typeof createStructureRetries>;

/** Most retries that can be saved up. More are not needed: routing leaves a route out after a few bad answers. */
const maxSaved = 10;
/** Retries for each valid answer. If one answer in three is invalid, every invalid answer is tried again. */
const share = 0.5;
/** A caller without valid answers gets a retry each minute. */
const perMs = 1 / 60_000;
/** Above this number, the caller that was seen least recently is forgotten, and begins with all its retries. */
const maxCallers = 10_000;

interface Saved {
  readonly retries: number;
  readonly at: number;
}

export function createStructureRetries({ clock }: { readonly clock: Pick<Clock, 'elapsed'> }) {
  const saved = new Map<string, Saved>();

  function save(caller: string, retries: number): void {
    saved.delete(caller);
    // A caller with all its retries needs no entry.
    if (retries < maxSaved) saved.set(caller, { retries, at: clock.elapsed() });
    forgetOldest(saved, maxCallers);
  }

  function retriesOf(caller: string): number {
    const { retries, at } = saved.get(caller) ?? { retries: maxSaved, at: 0 };
    return Math.min(maxSaved, retries + (clock.elapsed() - at) * perMs);
  }

  return {
    /** Call it for an answer with the right structure. Its caller earns a share of a retry. */
    earn: (caller: string): void => {
      if (saved.has(caller)) save(caller, Math.min(maxSaved, retriesOf(caller) + share));
    },
    /** Spends one retry. False: the caller has none left. */
    spend: (caller: string): boolean => {
      const retries = retriesOf(caller);
      if (retries < 1) return false;
      save(caller, retries - 1);
      return true;
    },
  };
}
