import { ByNumber } from '../../core/by-number.ts';
import type { Clock, CancelTimer } from '../../core/clock.ts';
import { type Arrival, type RequestHead, type Upload, type UploadOwner, uploadStepBytes } from '../../core/exchange.ts';
import type { Headers } from '../../core/headers.ts';
import { bodyTooLarge, Failure } from '../../core/failure.ts';
import { createBodyCharges, type UploadLimits } from './body-charges.ts';
import { createReadAhead, type ReadTurn } from './read-ahead.ts';

/** Largest request body, bytes: 32 MiB (docs/reference/endpoints.md §4.1.3). */
export const maxBodyBytes = 33_554_432;

/** The size that a request declares for its body. 0: it declares none. */
export function declaredSize(head: Pick<RequestHead, 'header'>): number {
  const declared = Number(head.header('content-length'));
  return Number.isNaN(declared) ? 0 : declared;
}

/** Refuses a body whose declared size is too large, before any of it is read. Throws `body_too_large`. */
export function checkDeclaredSize(head: Pick<RequestHead, 'header'>): void {
  if (declaredSize(head) > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
}

/** How often uploads are checked. */
const tickMs = 1_000;
/** An upload ends after so many checks without a byte, well before Envoy ends it (600 s, src/control/envoy/config/edge-listener.ts). */
const stalledTicks = 20;
/**
 * An upload ends when so many checks bring less than `minBytes`. Otherwise an upload that sends one byte now and then would use
 * its memory for ever.
 */
const paceTicks = 60;
const minBytes = 60 * 1024;

/**
 * How many bytes of large bodies are received before they are read. The thread that reads them must always find the next one: 16 MiB
 * are a fifth of a second of its time.
 */
const aheadBytes = 16 * 1024 * 1024;
/** The size that is expected of a body that declares none. */
const usualBytes = 1024 * 1024;

interface UploadsOptions {
  readonly clock: Clock;
  readonly limits: UploadLimits;
}

interface OpenOptions {
  /** Headers of a refusal that the owner caused. */
  readonly headers: Headers;
  /** The result of `declaredSize`. It is not charged, because it need not arrive. */
  readonly declaredBytes: number;
}

export type UploadLedger = ReturnType<typeof createUploads>;

/** A body that is still arriving. */
interface Arriving extends Pick<Arrival, 'expire'> {
  readonly id: number;
  /** Undefined: it is short, and received at once. */
  readonly turn: ReadTurn | undefined;
  bytes: number;
  bytesAtLastTick: number;
  quietTicks: number;
  bytesAtPaceStart: number;
  ticksAtPace: number;
}

/**
 * Accounts for the memory of each request body, on all surfaces, from its first byte until its request ends. One timer checks those
 * that are still arriving.
 */
export function createUploads({ clock, limits }: UploadsOptions) {
  const charges = createBodyCharges(limits);
  const waiting = new ByNumber<Arriving>();
  const readAhead = createReadAhead(aheadBytes);
  let nextId = 0;
  let cancelTick: CancelTimer | undefined;

  /** A late check counts once, however late it is: bytes do not arrive while this process itself is blocked. */
  function tick(): void {
    cancelTick = undefined;
    for (const arriving of waiting.values()) {
      if (isTooSlow(arriving)) end(arriving);
      else arriving.turn?.tick();
    }
    arm();
  }

  function arm(): void {
    if (waiting.size > 0) cancelTick ??= clock.after(tickMs, tick);
  }

  function end(arriving: Arriving): void {
    waiting.delete(arriving.id);
    arriving.expire(
      new Failure('invalid_request', 'The request body did not arrive in time.', { limit: 'upload-time' }),
    );
  }

  return {
    /** How many bodies are still arriving. */
    arriving: (): number => waiting.size,
    /** Bytes charged to bodies. */
    bytes: charges.bytes,
    /** Whether there is no room even for a small body. */
    isFull: charges.isFull,
    close: (): void => cancelTick?.(),
    /**
     * Opens the account of one request's body, and charges one step for the memory of an open request. Throws a refusal at once if
     * there is no room for one step, or for the declared size.
     */
    open: (owner: UploadOwner, { headers, declaredBytes }: OpenOptions): Upload => {
      const charge = charges.open(owner, headers);
      let arriving: Arriving | undefined;
      let turn: ReadTurn | undefined;

      function complete(): void {
        if (arriving === undefined) return;
        waiting.delete(arriving.id);
        if (waiting.size > 0) return;
        cancelTick?.();
        cancelTick = undefined;
      }

      charge.check(declaredBytes);
      charge.hold(0);
      return {
        begin: ({ read, expire }) => {
          if (!charge.isOpen() || arriving !== undefined) return;
          const begun = { quietTicks: 0, ticksAtPace: 0, bytesAtLastTick: 0, bytesAtPaceStart: 0 };
          const expected = declaredBytes > 0 ? declaredBytes : usualBytes;
          if (expected > uploadStepBytes) turn = readAhead.enter(expected, read);
          else read();
          arriving = { ...begun, id: nextId++, bytes: 0, turn, expire };
          waiting.set(arriving.id, arriving);
          arm();
        },
        hold: (arrivedBytes, memoryBytes) => {
          charge.hold(memoryBytes);
          if (arriving !== undefined) arriving.bytes = arrivedBytes;
        },
        complete,
        read: (bodyBytes) => {
          complete();
          turn?.leave();
          if (bodyBytes > uploadStepBytes) return charge.keep(bodyBytes);
          charge.close();
          return false;
        },
        close: () => {
          complete();
          turn?.leave();
          charge.close();
        },
      };
    },
  };
}

/** Counts one more check of an upload, and returns whether the upload is too slow. */
function isTooSlow(arriving: Arriving): boolean {
  const { bytes } = arriving;
  arriving.quietTicks = bytes === arriving.bytesAtLastTick ? arriving.quietTicks + 1 : 0;
  arriving.bytesAtLastTick = bytes;
  if (arriving.quietTicks >= stalledTicks) return true;
  arriving.ticksAtPace += 1;
  if (arriving.ticksAtPace < paceTicks) return false;
  const isSlow = bytes - arriving.bytesAtPaceStart < minBytes;
  arriving.ticksAtPace = 0;
  arriving.bytesAtPaceStart = bytes;
  return isSlow;
}
