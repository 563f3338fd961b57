import type { Endpoint } from '../../../core/endpoint.ts';
import { type Fault, isEngineFailure } from '../../../core/event.ts';
import type { AttemptEnd, AttemptRecord } from '../../core/health.ts';
import type { Circuit, CircuitTicket } from './circuit.ts';
import type { Cooling } from './cooling.ts';
import type { DecayedMean } from '../../core/decayed-mean.ts';
import type { BackendLoad } from './load.ts';
import type { Pace } from './pace.ts';

/**
 * Reasons of a failed connect that say that this service or its machine is short of files, buffers or memory. No engine has got the
 * request.
 */
const ownShortages: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EAGAIN']);

/**
 * The meaning of a fault for the health of its endpoint. `nothing`: any endpoint would have answered the same, or `StructureHealth`
 * counts it. `full`: the endpoint has no room now. `broken`: the endpoint failed.
 */
export function blameOf(fault: Fault): 'nothing' | 'full' | 'broken' {
  const { kind, detail, engineError, status, retryAfterSeconds } = fault;
  if (kind === 'connect' && ownShortages.has(detail)) return 'nothing';
  // The engine works. Its answer had the wrong structure, or did not continue the other answer.
  if (kind === 'structure' || kind === 'disjoint') return 'nothing';
  switch (engineError ?? 'other') {
    case 'context-length':
    case 'bad-request':
    case 'content-policy':
    // Other requests may be served, and no caller may close an endpoint with one that is not.
    case 'misconfigured':
      return 'nothing';
    case 'rate-limit':
      return 'full';
    case 'overloaded':
      // A 503 without a date may come from a proxy in front of a dead engine, which needs probes.
      return retryAfterSeconds !== undefined || status === 429 ? 'full' : 'broken';
    case 'account':
    case 'not-found':
    case 'other':
      return status === 429 ? 'full' : 'broken';
  }
}

/** The record of one endpoint. Its attempts change it. */
export interface EndpointMemory {
  endpoint: Endpoint;
  /** Attempts under way on the endpoint, by all routes. */
  load: BackendLoad;
  /** Attempts under way on the whole backend. */
  readonly backendLoad: BackendLoad;
  readonly circuit: Circuit;
  readonly cooling: Cooling;
  readonly success: DecayedMean;
  readonly logTokenMs: DecayedMean;
  readonly streams: Pace;
  readonly wholes: Pace;
  /**
   * Whether a caller has waited in vain since the last output. A failure at once does not reset this: when a connection times out,
   * Envoy fails all requests that wait for the connection together, including those that came last.
   */
  keepsWaiting: boolean;
  /** Time of the last output; undefined after a failure. */
  answeredAt: number | undefined;
  /** The fault for which it was ejected last. Undefined: it kept callers waiting, or has had output since. */
  fault: Fault | undefined;
}

export function paceOf({ streams, wholes }: EndpointMemory, stream: boolean): Pace {
  return stream ? streams : wholes;
}

/** The facts about an attempt and its prompt that health needs. */
export interface EndpointAttempt {
  readonly stream: boolean;
  /** `BeginOptions.isLastResort`. Absent: false. */
  readonly isLastResort?: boolean;
  /** Called when the prompt has been answered. */
  readonly answered: () => void;
  /**
   * Called when the engine failed on the prompt. True: the prompt failed on this endpoint shortly before, so this failure does not
   * count.
   */
  readonly isRepeated: (now: number) => boolean;
  /** Called with each failure for which the endpoint is to blame. */
  readonly failed: (fault: Fault) => void;
}

/** One attempt on an endpoint, from its beginning to its end. */
export type EndpointRecord = Pick<AttemptRecord, 'output' | 'ended'>;

/** Fewest attempts after which a success rate below one half ejects the endpoint. */
const enough = 6;
/** An attempt that fails without output within this time has kept no caller waiting, milliseconds. */
const atOnceMs = 1000;
/** A lost race counts as half a failure, because the answer would have come. */
const beatenWeight = 0.5;

interface AttemptState {
  readonly asked: EndpointAttempt;
  readonly ticket: CircuitTicket;
  readonly begunAt: number;
  /** The load that counts the attempt until its end, even if another load counts new attempts on the endpoint. */
  readonly counted: BackendLoad;
  outputAt: number | undefined;
  isOver: boolean;
}

/** Counts an attempt from its beginning to its end, and remembers how it went. */
export function recordAttempt(
  memory: EndpointMemory,
  {
    now,
    elapsed,
    ticket,
    ...asked
  }: EndpointAttempt & { readonly now: number; readonly elapsed: () => number; readonly ticket: CircuitTicket },
): EndpointRecord {
  const attempt: AttemptState = {
    asked,
    ticket,
    begunAt: now,
    counted: memory.load,
    outputAt: undefined,
    isOver: false,
  };
  attempt.counted.inFlight += 1;
  memory.backendLoad.inFlight += 1;
  paceOf(memory, asked.stream).began(now);
  return {
    output: () => void outputCame(memory, attempt, elapsed()),
    ended: (end) => {
      if (attempt.isOver) return;
      attempt.isOver = true;
      attempt.counted.inFlight -= 1;
      memory.backendLoad.inFlight -= 1;
      const at = elapsed();
      if (end.kind === 'complete') completed(memory, attempt, { at, tokens: end.tokens });
      else broke(memory, attempt, { at, end });
    },
  };
}

/** Returns the time of the first output. */
function outputCame(memory: EndpointMemory, attempt: AttemptState, at: number): number {
  if (attempt.outputAt !== undefined) return attempt.outputAt;
  attempt.outputAt = at;
  memory.answeredAt = at;
  memory.keepsWaiting = false;
  if (memory.circuit.alive(attempt.ticket)) beginAgain(memory, at);
  paceOf(memory, attempt.asked.stream).over(at, { begunAt: attempt.begunAt, end: 'output' });
  return at;
}

/** The endpoint begins again with one assumed failure. Its share grows with its successes. */
export function beginAgain(memory: EndpointMemory, at: number): void {
  const { success, streams, wholes, logTokenMs } = memory;
  for (const part of [success, streams, wholes, logTokenMs]) part.restart();
  success.add(at, 0);
  memory.fault = undefined;
}

function completed(
  memory: EndpointMemory,
  attempt: AttemptState,
  { at, tokens = 0 }: { readonly at: number; readonly tokens: number | undefined },
): void {
  const first = outputCame(memory, attempt, at);
  attempt.asked.answered();
  memory.success.add(at, 1);
  memory.circuit.succeeded(attempt.ticket);
  memory.cooling.served();
  const later = tokens - 1;
  if (attempt.asked.stream && later > 0 && at > first) memory.logTokenMs.add(at, Math.log((at - first) / later));
}

function broke(
  memory: EndpointMemory,
  attempt: AttemptState,
  { at, end }: { readonly at: number; readonly end: Exclude<AttemptEnd, { readonly kind: 'complete' }> },
): void {
  const { asked, ticket, begunAt } = attempt;
  if (attempt.outputAt === undefined) {
    paceOf(memory, asked.stream).over(at, { begunAt, end: end.kind === 'beaten' ? 'beaten' : 'left' });
  }
  if (end.kind === 'beaten') {
    failed(memory, attempt, { at, weight: beatenWeight });
    return;
  }
  const blame = end.kind === 'aborted' ? 'nothing' : blameNow(asked, { at, fault: end.fault });
  if (end.kind === 'failed' && blame !== 'nothing') asked.failed(end.fault);
  switch (blame) {
    case 'nothing':
      memory.circuit.released(ticket);
      break;
    case 'full':
      memory.success.add(at, 0, { weight: beatenWeight });
      memory.cooling.refused(at, {
        begunAt,
        retryAfterSeconds: end.kind === 'failed' ? end.fault.retryAfterSeconds : undefined,
      });
      memory.circuit.released(ticket);
      break;
    case 'broken':
      failed(memory, attempt, { at, weight: 1, fault: end.kind === 'failed' ? end.fault : undefined });
  }
}

/** A prompt on which an engine fails counts once, however often it is sent. */
function blameNow(
  asked: EndpointAttempt,
  { at, fault }: { readonly at: number; readonly fault: Fault },
): ReturnType<typeof blameOf> {
  return isEngineFailure(fault) && asked.isRepeated(at) ? 'nothing' : blameOf(fault);
}

function failed(
  memory: EndpointMemory,
  { ticket, begunAt, outputAt }: AttemptState,
  { at, weight, fault }: { readonly at: number; readonly weight: number; readonly fault?: Fault | undefined },
): void {
  const { success, circuit } = memory;
  memory.answeredAt = undefined;
  memory.keepsWaiting ||= outputAt === undefined && (weight < 1 || at - begunAt > atOnceMs);
  success.add(at, 0, { weight });
  const trip = success.weight(at) >= enough && success.mean(at) < 0.5;
  if (circuit.failed(ticket, at, { trip })) memory.fault = fault;
}
