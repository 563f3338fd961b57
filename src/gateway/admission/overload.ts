import type { RequestHead } from '../../core/exchange.ts';
import type { Model } from '../../core/catalog.ts';
import { Failure } from '../../core/failure.ts';
import type { FirstTokenWait } from '../core/health.ts';
import type { Load, LoadMeter, ShedReason } from '../../core/load.ts';
import { type Clock, every } from '../../core/clock.ts';

/** Above `from` a rising share of new requests is refused, and from `to` on all of them. */
interface SheddingRange {
  readonly from: number;
  readonly to: number;
}

interface Arrival {
  readonly head: RequestHead;
  /** When the request reached the service, milliseconds since the Unix epoch. */
  readonly startedAt: number;
  /** Requests under way, this one included. */
  readonly openRequests: number;
}

/** How busy the service is, and how busy it may be. */
export interface LoadGuard extends LoadMeter {
  readonly limits: ReturnType<typeof overloadLimits>;
}

interface CheckLoadOptions extends Pick<LoadGuard, 'limits' | 'current'> {
  /** A number from 0 up to 1. */
  readonly random: () => number;
}

/**
 * A queue that lasts longer is more than a burst. 2,000 streams opened at once make a queue of 0.8 to 1.2 s on two idle
 * cores, and none of them may be refused.
 */
const burstMs = 2_000;

/** What an open stream costs the service, measured with 2,000 of them: 65 KiB, and as much again for a long prompt. */
const bytesPerRequest = 128 * 1024;

/** More open requests than one process can serve: above this only Envoy's connections would grow. */
export const maxOpenRequests = 20_000;

/**
 * With fewer open requests, only the event loop's own running time counts as its delay. If other programs use the cores of a
 * service, it serves a few requests late, and refusing them would not help.
 */
const fewRequests = 8;

/** Share of its memory above which a process sheds load. */
export const memoryShareToShed = 0.8;

/** Files of the service and of Envoy that no request needs: threads, the database, listeners and logs. */
const filesBesides = 256;

/** Files that a request takes: a connection to Envoy's egress listener, and as much again for a hedge or a search. */
const filesPerRequest = 2;

/** With few files, some requests must pass. */
const minOpenRequests = 16;

/**
 * The limits of a process that may use so much memory, and have so many files open. Undefined: no limit of files is known. Requests are
 * limited by files, too, because between two counts of the files many requests can arrive: a connection has room for many.
 */
export function overloadLimits(memoryLimitBytes: number, maxOpenFiles?: number) {
  const files = Math.max(minOpenRequests, Math.floor(((maxOpenFiles ?? Infinity) - filesBesides) / filesPerRequest));
  const open = Math.min(maxOpenRequests, files, Math.floor(memoryLimitBytes / bytesPerRequest));
  return {
    /**
     * How long the request itself has waited for the service. Counts only while the queue is more than a burst. Envoy sheds most of a
     * flood, at half the cost (`nextAdmitRatio`); the service refuses what Envoy had already let through.
     */
    waitMs: { from: 500, to: 1_500 },
    burstMs,
    // An average: 300 ms is an event loop blocked for 600 ms again and again. 2,000 requests at once block it that long once.
    eventLoopDelayMs: { from: 300, to: 1_000 },
    memoryShare: { from: memoryShareToShed, to: 0.95 },
    // The files that are left are for the database, for answers in progress, and for probes.
    filesShare: { from: 0.8, to: 0.9 },
    openRequests: { from: Math.floor(open * 0.9), to: open },
  };
}

/** Envoy's clock when it had read the request's head, in milliseconds since 1970 (src/control/envoy/config/edge-listener.ts). */
const receivedHeader = 'x-weir-received';

/** A longer wait means that the clock was set. */
const maxWaitMs = 60_000;

/** How long the request has waited since Envoy read its head, by the wall clock that both share; 0 where that is not known. */
export function waitedMs(head: RequestHead, now: number): number {
  const waited = now - Number(head.header(receivedHeader));
  return waited > 0 && waited < maxWaitMs ? waited : 0;
}

/**
 * Refuses a new request that the service could serve only at the cost of those under way: throws `overloaded`, a 503 after
 * which a retry is safe (docs/reference/api.md §7.1). Chance decides which requests are refused, so that load falls smoothly
 * and does not swing. Answers under way are never touched.
 */
export function checkLoad({ openRequests }: Pick<Arrival, 'openRequests'>, options: CheckLoadOptions): void {
  const reason = shedReason(openRequests, options);
  if (reason !== undefined) throw overloaded(reason);
}

/**
 * Refuses a request that has waited long in a queue, like `checkLoad`. Only for known callers: the wait counts towards the queue, so a
 * stranger, who can make it as long as it takes to send a head, would shed others.
 */
export function checkQueue({ head, startedAt, openRequests }: Arrival, options: CheckLoadOptions & LoadGuard): void {
  const waited = waitedMs(head, startedAt);
  options.arrived(waited);
  const { limits, random, current } = options;
  if (current().queuedForMs < limits.burstMs || openRequests < fewRequests) return;
  if (isShed(waited, limits.waitMs, random)) throw overloaded('queue');
}

/** A 503 after which a retry is safe. */
export function overloaded(limit: ShedReason): Failure {
  return new Failure('overloaded', 'The service is overloaded right now. It is safe to retry.', { limit });
}

/** From which multiple of a model's objective on requests are refused, and from which on all of them. */
const objectiveShare: SheddingRange = { from: 1, to: 1.5 };

/** The part of a model's `serviceLevel` that concerns the first token. */
type FirstTokenObjective = Pick<NonNullable<Model['serviceLevel']>, 'firstTokenMs'>;

/**
 * Refuses a request whose first token would come too late on every endpoint of its model. Throws `no_capacity`, a 503 after which a
 * retry is safe. Nothing is queued. A prompt that takes long by itself is not refused for that: a retry would take as long. Undefined
 * waits are not known, so the request passes.
 */
export function checkFirstToken(
  { id, serviceLevel }: { readonly id: string; readonly serviceLevel?: FirstTokenObjective | undefined },
  waits: readonly (FirstTokenWait | undefined)[],
  random: () => number,
): void {
  const { firstTokenMs: objectiveMs } = serviceLevel ?? {};
  if (objectiveMs === undefined) return;
  let least = Infinity;
  for (const wait of waits) {
    if (wait === undefined) return;
    least = Math.min(least, wait.firstMs / Math.max(objectiveMs, wait.aloneMs));
  }
  if (!isShed(least, objectiveShare, random)) return;
  throw new Failure('no_capacity', `No capacity for ${id} right now.`, { limit: 'first-token' });
}

function shedReason(openRequests: number, { random, ...guard }: CheckLoadOptions): ShedReason | undefined {
  // Where two resources run short, each refuses its share of the requests that the other has let pass.
  return sharesShed(openRequests, guard).find(([, share]) => isDrawn(share, random))?.[0];
}

/** The share of new requests that each resource refuses now. */
function sharesShed(
  openRequests: number,
  { limits, current }: Pick<LoadGuard, 'limits' | 'current'>,
): readonly (readonly [ShedReason, number])[] {
  const load = current();
  return [
    ['open-requests', shareShed(openRequests, limits.openRequests)],
    ['memory', shareShed(load.memoryShare, limits.memoryShare)],
    ['open-files', shareShed(load.filesShare, limits.filesShare)],
    ['event-loop', shareShed(delayOf(load, openRequests), limits.eventLoopDelayMs)],
  ];
}

function delayOf({ eventLoopDelayMs, ownDelayMs }: Load, openRequests: number): number {
  return openRequests < fewRequests ? ownDelayMs : eventLoopDelayMs;
}

const isShed = (value: number, range: SheddingRange, random: () => number): boolean =>
  isDrawn(shareShed(value, range), random);

const isDrawn = (share: number, random: () => number): boolean => share > 0 && random() < share;

function shareShed(value: number, { from, to }: SheddingRange): number {
  return Math.min(1, Math.max(0, (value - from) / (to - from)));
}

/** Share of new requests that are refused now, whatever their own wait. */
export const shedShare = (openRequests: number, guard: Pick<LoadGuard, 'limits' | 'current'>): number =>
  1 - sharesShed(openRequests, guard).reduce((pass, [, share]) => pass * (1 - share), 1);

/**
 * The median wait to aim at. 900 callers without pauses cause each other this wait; fewer callers cause less. It is
 * short compared with the answer times of engines.
 */
const targetMs = 400;
/** Change per step: the ratio can rise by half in 0.7 s, and fall to a third within 0.4 s of a rush. */
const fastestRise = 0.06;
const fastestFall = 0.25;
/** Some requests always pass: without them the wait could not be measured. */
const minRatio = 0.05;

/** How often a step is due. Envoy acts on each step in the middle of the next one. */
export const admitStepMs = 100;

/**
 * The share of new requests that Envoy's load shedder admits from now on, given the share until now. Envoy sheds a
 * flood because its refusals are cheaper: a refusal by the service costs both together 250 µs, one by Envoy alone 90
 * µs. Shedding begins when a queue is more than a burst. Then the ratio follows the wait of the newest requests.
 */
export function nextAdmitRatio(ratio: number, load: Pick<Load, 'medianWaitMs' | 'queuedForMs'>): number {
  if (ratio === 1 && load.queuedForMs < burstMs) return 1;
  const step = Math.max(-fastestFall, fastestRise * (1 - load.medianWaitMs / targetMs));
  return Math.min(1, Math.max(minRatio, ratio * (1 + step)));
}

/** Decides whether the service has refused nearly every new request for a while. */
export type ShedWatch = ReturnType<typeof createShedWatch>;

interface ShedWatchOptions {
  readonly clock: Clock;
  /** Share of new requests that are refused now, from 0 to 1. */
  readonly shedShare: () => number;
  /** Whether no request arrives, so that looks may be rarer. Default: never. */
  readonly isQuiet?: () => boolean;
}

const lookEveryMs = 500;
const lookInQuietMs = 2_000;
const nearlyAll = 0.95;
/** Long enough for a rush or a garbage collection to end, and for a load balancer to act. */
const longMs = 5_000;
/** The service counts as recovered when it refuses a smaller share than this. */
const enoughPass = 0.5;

/**
 * Checks the share on a timer and not with each request. A replica that is not ready gets no requests, and its recovery
 * must still be noticed.
 */
export function createShedWatch({ clock, shedShare, isQuiet = () => false }: ShedWatchOptions) {
  let since: number | undefined;
  let isSheddingAll = false;

  const waitMs = (): number => (isQuiet() && since === undefined && !isSheddingAll ? lookInQuietMs : lookEveryMs);
  const close = every(clock, waitMs, () => {
    const share = shedShare();
    if (share >= nearlyAll) {
      since ??= clock.elapsed();
      if (clock.elapsed() - since >= longMs) isSheddingAll = true;
    } else {
      since = undefined;
      if (share < enoughPass) isSheddingAll = false;
    }
  });

  return { isSheddingAll: (): boolean => isSheddingAll, close };
}
