import type { Outcome } from '../../core/account.ts';
import type { Surface } from '../../core/dialect.ts';
import { codeOfOutcome, type FailureCode } from '../../core/failure.ts';
import type { FailureFacts, Failovers, RequestRecord } from './request-record.ts';
import type { OutcomeKind } from '../../core/settled-request.ts';

/** The end of a request, as its caller saw it, for metrics and the log. */
export interface RequestEnd {
  readonly requestId: string;
  /** The caller's or Envoy's `x-request-id`. Empty: it was too long or had special characters. */
  readonly correlationId: string;
  /** The trace that contains the request. Undefined: no trace does. */
  readonly traceId: string | undefined;
  readonly surface: Surface;
  readonly address?: string | undefined;
  /** Undefined: its key is not known. */
  readonly workspaceId: string | undefined;
  readonly keyId: string | undefined;
  /** A model of the catalog. Undefined: the request was refused before the routes of a model were compared. */
  readonly modelId: string | undefined;
  /** `refused`: nothing was dispatched. */
  readonly kind: OutcomeKind | 'refused';
  /** The error that the caller got. Undefined: no error. */
  readonly code: FailureCode | undefined;
  /** The failure behind `code`. */
  readonly failure: FailureFacts | undefined;
  readonly durationMs: number;
  /** Undefined: no row of the request became durable. */
  readonly outcome: Outcome | undefined;
  /** The service's own share of the time, milliseconds, not rounded. Undefined: the request was not completed. */
  readonly added: AddedLatency | undefined;
  readonly failovers: Failovers;
  /** Limits that would have refused it, if they were enforced. */
  readonly wouldRefuse: RequestRecord['wouldRefuse'];
}

/** The time that the service adds to a completed request. */
export interface AddedLatency {
  /** From the head of the request to the first call of an engine, without the wait for the caller's body. */
  readonly beforeMs: number;
  /** From the engine's last piece of the answer to the last piece that the service sends. It includes the settlement. */
  readonly afterMs: number;
}

/** Reads the end of a request from its record. */
export function endOf(record: RequestRecord): RequestEnd {
  const {
    requestId,
    correlationId,
    trace,
    surface,
    address,
    workspaceId,
    keyId,
    begun,
    overAt = begun,
    failure,
    failovers,
    wouldRefuse,
  } = record;
  // A request whose row could not be written has failed, whatever its caller got.
  const outcome = record.recordedAt === undefined ? undefined : record.outcome;
  const kind = outcome?.kind ?? kindWithoutOutcome(record);
  return {
    requestId,
    correlationId,
    surface,
    address,
    workspaceId,
    keyId,
    kind,
    failure,
    outcome,
    failovers,
    wouldRefuse,
    traceId: trace?.place.isSampled === true ? trace.place.traceId : undefined,
    modelId: record.ranking === undefined && !record.isUnavailable ? undefined : record.modelId,
    code: codeOfOutcome[kind] ?? failure?.code,
    durationMs: overAt - begun,
    added: outcome?.kind === 'completed' ? addedLatency(record) : undefined,
  };
}

function kindWithoutOutcome({ failure, attemptCount }: RequestRecord): RequestEnd['kind'] {
  // The caller left before the request was complete.
  if (failure === undefined) return 'cancelled';
  return attemptCount === 0 ? 'refused' : 'failed';
}

function addedLatency({ begun, bodyMs, attempts, answeredAt, overAt }: RequestRecord): AddedLatency | undefined {
  const calledAt = attempts[0]?.beganAt;
  if (calledAt === undefined || answeredAt === undefined || overAt === undefined) return undefined;
  return { beforeMs: Math.max(0, calledAt - begun - bodyMs), afterMs: overAt - answeredAt };
}
