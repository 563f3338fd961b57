import type { RequestHead } from '../core/exchange.ts';
import { Failure } from '../core/failure.ts';
import type { LoadMeter, ShedReason } from '../core/load.ts';

/** From `from` on a rising share of new requests is refused, and from `to` on all of them. */
export interface SheddingRange {
  readonly from: number;
  readonly to: number;
}

export interface OverloadLimits {
  /** A request's own wait before the service. It counts in a queue that is more than a burst. */
  readonly waitMs: SheddingRange;
  /** How long a queue may stand before it is more than a burst. */
  readonly burstMs: number;
  readonly eventLoopDelayMs: SheddingRange;
  readonly memoryShare: SheddingRange;
  readonly openRequests: SheddingRange;
}

export interface Arrival {
  readonly head: RequestHead;
  /** When it reached the service, milliseconds since the Unix epoch. */
  readonly startedAt: number;
  /** Requests under way, this one included. */
  readonly openRequests: number;
}

/** How busy the service is, and how busy it may be. */
export interface LoadGuard extends LoadMeter {
  readonly limits: OverloadLimits;
  /** Told before a refusal. */
  readonly shed: (reason: ShedReason) => void;
}

export interface CheckLoadOptions extends LoadGuard {
  /** A number from 0 up to 1. */
  readonly random: () => number;
}

/**
 * A queue that stands for longer is more than a burst: 2,000 streams opened at once stand for 0.8 to 1.2 s on two idle cores,
 * and none of them is to be refused.
 */
export const burstMs = 2_000;

/** What an open stream costs the service, measured with 2,000 of them: 65 KiB, and as much again for a long prompt. */
const bytesPerRequest = 128 * 1024;

/** More than one process serves; beyond it only Envoy's connections grow. */
const mostOpenRequests = 20_000;

/** Share of its memory from which on a process sheds. */
export const memoryShareToShed = 0.8;

/** The limits of a process that may use so much memory. */
export function overloadLimits(memoryLimitBytes: number): OverloadLimits {
  const open = Math.min(mostOpenRequests, Math.floor(memoryLimitBytes / bytesPerRequest));
  return {
    // Envoy sheds the rest of what is too much, at half the cost (admit-ratio.ts): here what was on its way is turned round.
    waitMs: { from: 500, to: 1_500 },
    burstMs,
    // An average: 300 ms is a loop that is held up for 600 ms again and again. 2,000 requests at once hold it for that long once.
    eventLoopDelayMs: { from: 300, to: 1_000 },
    memoryShare: { from: memoryShareToShed, to: 0.95 },
    openRequests: { from: Math.floor(open * 0.9), to: open },
  };
}

/** Envoy's clock when it had read the request's head, in milliseconds since 1970 (envoy/edge-listener.ts). */
const receivedHeader = 'x-weir-received';

/** A wait beyond it is a clock that was set. */
const longestWaitMs = 60_000;

/** How long the request has waited since Envoy had read its head, by the wall clock that both share; 0 where it is not known. */
export function waitedMs(head: RequestHead, now: number): number {
  const waited = now - Number(head.header(receivedHeader));
  return waited > 0 && waited < longestWaitMs ? waited : 0;
}

/**
 * Turns a new request away that the service could only serve at the cost of those under way, with a 503 that is safe to send
 * again (docs/reference/api.md §7.1). Throws `overloaded`. Which ones is a matter of chance, so that load ebbs and does not
 * swing. Answers under way are never touched.
 */
export function checkLoad({ head, startedAt, openRequests }: Arrival, options: CheckLoadOptions): void {
  const waited = waitedMs(head, startedAt);
  options.arrived(waited);
  const reason = shedReason({ waitedMs: waited, openRequests }, options);
  if (reason === undefined) return;
  options.shed(reason);
  throw new Failure('overloaded', 'The service is overloaded right now. It is safe to retry.');
}

function shedReason(
  arrival: { readonly waitedMs: number; readonly openRequests: number },
  { limits, random, current }: CheckLoadOptions,
): ShedReason | undefined {
  const load = current();
  // Where two things run short, each takes its share of what the other has left.
  if (isShed(arrival.openRequests, limits.openRequests, random)) return 'open-requests';
  if (isShed(load.memoryShare, limits.memoryShare, random)) return 'memory';
  if (isShed(load.eventLoopDelayMs, limits.eventLoopDelayMs, random)) return 'event-loop';
  if (load.queuedForMs < limits.burstMs) return undefined;
  return isShed(arrival.waitedMs, limits.waitMs, random) ? 'queue' : undefined;
}

function isShed(value: number, range: SheddingRange, random: () => number): boolean {
  const share = shareShed(value, range);
  return share > 0 && (share === 1 || random() < share);
}

function shareShed(value: number, { from, to }: SheddingRange): number {
  if (value <= from) return 0;
  return value >= to ? 1 : (value - from) / (to - from);
}

/** Share of new requests that are turned away now, whatever they waited themselves. */
export function shedShare(openRequests: number, { limits, current }: Pick<LoadGuard, 'limits' | 'current'>): number {
  const { memoryShare, eventLoopDelayMs } = current();
  const shares = [
    shareShed(openRequests, limits.openRequests),
    shareShed(memoryShare, limits.memoryShare),
    shareShed(eventLoopDelayMs, limits.eventLoopDelayMs),
  ];
  return 1 - shares.reduce((pass, share) => pass * (1 - share), 1);
}
