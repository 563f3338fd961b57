import { type Fault, isEngineFailure } from '../core/event.ts';
import type { DispatchEnd } from './run.ts';

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
