import type { Outcome } from '../core/account.ts';
import type { OutcomeKind } from '../core/settled-request.ts';
import type { Failure, FailureCode } from '../core/failure.ts';
import type { AddedLatency, AttemptReason, RequestEnd } from '../core/telemetry.ts';

/** What becomes known of one request on its way, gathered for the one record that is made of it at its end. Times are monotonic. */
export interface RequestTally {
  /** When it came, milliseconds. */
  readonly begun: number;
  /** Its model is in the catalog. */
  readonly planned: (modelId: string) => void;
  /** Its body has arrived, after this wait. */
  readonly received: (waitedMs: number) => void;
  /** An engine is called. */
  readonly attempting: (reason: AttemptReason, now: number) => void;
  /** The engines have said their last word. */
  readonly answered: (now: number) => void;
  readonly settled: (outcome: Outcome) => void;
  readonly failed: (failure: Failure) => void;
  /** The caller left before the request was complete. */
  readonly abandoned: () => void;
  readonly end: (now: number) => RequestEnd;
}

/** Begins the record of a request that came at `begun`. */
export function createRequestTally(
  {
    requestId,
    surface,
    correlationId,
    traceId,
  }: Pick<RequestEnd, 'requestId' | 'surface' | 'correlationId' | 'traceId'>,
  begun: number,
): RequestTally {
  let modelId: string | undefined;
  let bodyMs = 0;
  let calledAt: number | undefined;
  let answeredAt: number | undefined;
  let outcome: Outcome | undefined;
  let failure: Failure | undefined;
  let wasAbandoned = false;
  let beforeOutput = 0;
  let midStream = 0;

  /** A request that was dispatched and could not be settled has failed, whatever its caller got. */
  function kindOf(): RequestEnd['kind'] {
    if (outcome !== undefined) return outcome.kind;
    if (wasAbandoned) return 'cancelled';
    return calledAt === undefined ? 'refused' : 'failed';
  }

  function addedUntil(now: number): AddedLatency | undefined {
    if (outcome?.kind !== 'completed' || calledAt === undefined || answeredAt === undefined) return undefined;
    return { beforeMs: Math.max(0, calledAt - begun - bodyMs), afterMs: now - answeredAt };
  }

  return {
    begun,
    planned: (id) => (modelId = id),
    received: (waitedMs) => (bodyMs = waitedMs),
    attempting: (reason, now) => {
      calledAt ??= now;
      // Once an answer has broken off, every further attempt is made to go on with it.
      if (reason === 'resume' || (reason === 'failover' && midStream > 0)) midStream += 1;
      else if (reason === 'failover') beforeOutput += 1;
    },
    answered: (now) => (answeredAt = now),
    settled: (settled) => (outcome = settled),
    failed: (reason) => (failure = reason),
    abandoned: () => (wasAbandoned = true),
    end: (now) => {
      const kind = kindOf();
      return {
        ...{ requestId, correlationId, traceId, surface, modelId, kind, failure, outcome },
        code: codeOfKind[kind] ?? failure?.code,
        durationMs: now - begun,
        added: addedUntil(now),
        failovers: { beforeOutput, midStream },
      };
    },
  };
}

/** The error for a caller whose answer had begun (docs/reference/api.md §7.3), for every cause. */
const codeOfKind: Partial<Readonly<Record<OutcomeKind | 'refused', FailureCode>>> = {
  interrupted: 'stream_interrupted',
  incomplete: 'upstream_incomplete',
};
