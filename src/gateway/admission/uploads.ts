import { networkOf } from '../../core/address.ts';
import { ByNumber } from '../../core/by-number.ts';
import type { Clock, CancelTimer } from '../../core/clock.ts';
import { type RequestHead, type Upload, type UploadOwner, uploadStepBytes } from '../../core/exchange.ts';
import type { Headers } from '../../core/headers.ts';
import { bodyTooLarge, Failure } from '../../core/failure.ts';

/** Largest request body, bytes: 32 MiB (docs/reference/api.md §4.1.3). */
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

/** How many bytes of bodies may be in memory at once. */
export interface UploadLimits {
  readonly workspaceBytes: number;
  readonly addressBytes: number;
  readonly totalBytes: number;
}

/**
 * An eighth of each bound is kept for uploads of a single step (`uploadStepBytes`), so that small requests pass while large ones
 * fill the rest.
 */
const largeShare = 7 / 8;

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

/** The least that a client may be asked to wait, since it is not known when an upload will end. */
const retrySeconds = 1;

/**
 * The limits of a process that may use so much memory: all bodies together may have half of it, because a body that was read is there
 * twice while it is sent to an engine. Those of one workspace or address may have half of that. Ten bodies of 32 MiB at once need a
 * memory limit of 1.5 GiB, that is a container or machine of 3 GiB.
 */
export function uploadLimits(memoryLimitBytes: number): UploadLimits {
  const totalBytes = Math.floor(memoryLimitBytes / 2);
  return { totalBytes, workspaceBytes: Math.floor(totalBytes / 2), addressBytes: Math.floor(totalBytes / 2) };
}

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

export interface UploadLedger {
  /**
   * Opens the account of one request's body, and charges one step for the memory of an open request. Throws a refusal at once if
   * there is no room for one step, or for the declared size.
   */
  readonly open: (owner: UploadOwner, options: OpenOptions) => Upload;
  /** How many bodies are still arriving. */
  readonly arriving: () => number;
  /** Bytes charged to bodies. */
  readonly bytes: () => number;
  /** Whether there is no room even for a small body. */
  readonly isFull: () => boolean;
  readonly close: () => void;
}

/** A body that is still arriving. */
interface Arriving {
  readonly id: number;
  bytes: number;
  readonly expire: (failure: Failure) => void;
  bytesAtLastTick: number;
  quietTicks: number;
  bytesAtPaceStart: number;
  ticksAtPace: number;
}

/**
 * Accounts for the memory of each request body, on all surfaces, from its first byte until its request ends. One timer checks those
 * that are still arriving.
 */
export function createUploads({ clock, limits }: UploadsOptions): UploadLedger {
  const byWorkspace = new Map<string, number>();
  const byAddress = new Map<string, number>();
  const waiting = new ByNumber<Arriving>();
  let nextId = 0;
  let total = 0;
  let cancelTick: CancelTimer | undefined;

  /** A late check counts once, however late it is: bytes do not arrive while this process itself is blocked. */
  function tick(): void {
    cancelTick = undefined;
    for (const arriving of waiting.values()) if (isTooSlow(arriving)) end(arriving);
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
    arriving: () => waiting.size,
    bytes: () => total,
    isFull: () => total + uploadStepBytes > limits.totalBytes,
    close: () => cancelTick?.(),
    open: ({ workspaceId, address }, { headers, declaredBytes }) => {
      const network = address === undefined ? undefined : networkOf(address);
      let held = 0;
      let arriving: Arriving | undefined;
      let isOpen = true;

      const tooMany = (bound: 'workspace' | 'address', message: string): Failure =>
        new Failure('rate_limited', message, { retryAfterSeconds: retrySeconds, headers, limit: `upload-${bound}` });

      function charge(bytes: number): void {
        total += bytes;
        held += bytes;
        add(byWorkspace, workspaceId, bytes);
        if (network !== undefined) add(byAddress, network, bytes);
      }

      /** Throws a refusal if there is no room for so many bytes of this body. Returns how much more they are than what it has. */
      function check(bytes: number): number {
        const steps = Math.max(uploadStepBytes, inSteps(bytes));
        const more = steps - held;
        if (!isOpen || more <= 0) return 0;
        const share = steps > uploadStepBytes ? largeShare : 1;
        if ((byWorkspace.get(workspaceId) ?? 0) + more > limits.workspaceBytes * share)
          throw tooMany('workspace', 'This workspace sends too many large request bodies at once. Wait and retry.');
        if (network !== undefined && (byAddress.get(network) ?? 0) + more > limits.addressBytes * share)
          throw tooMany('address', 'This address sends too many large request bodies at once. Wait and retry.');
        if (total + more > limits.totalBytes * share)
          throw new Failure('overloaded', 'The service has no room for this request body right now.', {
            limit: 'upload-total',
          });
        return more;
      }

      function complete(): void {
        if (arriving === undefined) return;
        waiting.delete(arriving.id);
        if (waiting.size > 0) return;
        cancelTick?.();
        cancelTick = undefined;
      }

      check(declaredBytes);
      charge(check(0));
      return {
        begin: (expire) => {
          if (!isOpen || arriving !== undefined) return;
          const begun = { quietTicks: 0, ticksAtPace: 0, bytesAtLastTick: 0, bytesAtPaceStart: 0 };
          arriving = { ...begun, id: nextId++, bytes: 0, expire };
          waiting.set(arriving.id, arriving);
          arm();
        },
        hold: (arrivedBytes, memoryBytes) => {
          charge(check(memoryBytes));
          if (arriving !== undefined) arriving.bytes = arrivedBytes;
        },
        complete,
        read: (bodyBytes) => {
          complete();
          if (isOpen) charge((bodyBytes > uploadStepBytes ? inSteps(bodyBytes) : 0) - held);
        },
        close: () => {
          complete();
          charge(-held);
          isOpen = false;
        },
      };
    },
  };
}

const inSteps = (bytes: number): number => Math.ceil(bytes / uploadStepBytes) * uploadStepBytes;

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

/** Adds to a sum. Sums of zero are deleted, since workspaces and addresses come and go. */
function add(sums: Map<string, number>, name: string, bytes: number): void {
  const sum = (sums.get(name) ?? 0) + bytes;
  if (sum === 0) sums.delete(name);
  else sums.set(name, sum);
}
