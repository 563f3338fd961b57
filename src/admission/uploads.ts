import { networkOf } from '../core/address-network.ts';
import { ByNumber } from '../core/by-number.ts';
import type { Clock, Disarm } from '../core/clock.ts';
import type { Headers } from '../core/exchange.ts';
import { Failure } from '../core/failure.ts';
import { type Upload, type UploadBound, type UploadOwner, uploadStepBytes } from '../core/upload.ts';

/** How many bytes uploads may hold at once. */
export interface UploadLimits {
  readonly workspaceBytes: number;
  readonly addressBytes: number;
  readonly totalBytes: number;
}

/** An eighth of each bound is for uploads of one step: small requests pass while large ones are at the bound. */
const largeShare = 7 / 8;

/** An upload is looked at so often. */
const tickMs = 1_000;
/** So many looks without a byte end an upload. Well before the edge does (600 s, envoy/edge-listener.ts). */
const stalledTicks = 20;
/** So many looks may bring no less than `leastBytes`: a byte now and then would hold a place for ever. */
const paceTicks = 60;
const leastBytes = 60 * 1024;

/** Nobody knows when an upload will end: the least that a client may be asked to wait. */
const retrySeconds = 1;

/**
 * The limits of a process that may use so much memory: uploads may hold half of it, one workspace or address half of that.
 * Ten bodies of 32 MiB at once take a limit of 1.5 GiB: a container, or a machine, of 3 GiB.
 */
export function uploadLimits(memoryLimitBytes: number): UploadLimits {
  const totalBytes = Math.floor(memoryLimitBytes / 2);
  return { totalBytes, workspaceBytes: Math.floor(totalBytes / 2), addressBytes: Math.floor(totalBytes / 2) };
}

export interface UploadsOptions {
  readonly clock: Clock;
  readonly limits: UploadLimits;
  /** Told when a bound has ended an upload. */
  readonly refused: (bound: UploadBound) => void;
}

export interface UploadLedger {
  /**
   * Opens the account of one request's body, with one step held for what an open request costs besides. `headers` go with a
   * refusal of the owner's. Throws that refusal at once where even one step is too much.
   */
  readonly open: (owner: UploadOwner, headers: Headers) => Upload;
  /** Bodies whose bytes are waited for. */
  readonly arriving: () => number;
  /** Bytes held by bodies until they have been read. */
  readonly bytes: () => number;
  /** Whether not even a small body has room. */
  readonly isFull: () => boolean;
  readonly close: () => void;
}

/** A body whose bytes are waited for. */
interface Arriving {
  readonly id: number;
  bytes: number;
  readonly expire: (failure: Failure) => void;
  bytesAtLastTick: number;
  quietTicks: number;
  bytesAtPaceStart: number;
  ticksAtPace: number;
}

/** Keeps account of all request bodies, from their first byte until they have been read. One timer serves them all. */
export function createUploads({ clock, limits, refused }: UploadsOptions): UploadLedger {
  const byWorkspace = new Map<string, number>();
  const byAddress = new Map<string, number>();
  const waiting = new ByNumber<Arriving>();
  let nextId = 0;
  let total = 0;
  let disarm: Disarm | undefined;

  /** A look counts as one, however late it comes: bytes do not arrive while this process itself stands still. */
  function tick(): void {
    disarm = undefined;
    for (const arriving of waiting.values()) if (isTooSlow(arriving)) end(arriving);
    arm();
  }

  function arm(): void {
    if (waiting.size > 0) disarm ??= clock.after(tickMs, tick);
  }

  function end(arriving: Arriving): void {
    waiting.delete(arriving.id);
    refused('time');
    arriving.expire(new Failure('invalid_request', 'The request body did not arrive in time.'));
  }

  function refuse(bound: UploadBound, failure: Failure): never {
    refused(bound);
    throw failure;
  }

  return {
    arriving: () => waiting.size,
    bytes: () => total,
    isFull: () => total + uploadStepBytes > limits.totalBytes,
    close: () => disarm?.(),
    open: ({ workspaceId, address }, headers) => {
      const network = address === undefined ? undefined : networkOf(address);
      let held = 0;
      let arriving: Arriving | undefined;
      let isOpen = true;

      const tooMany = (message: string): Failure =>
        new Failure('rate_limited', message, { retryAfterSeconds: retrySeconds, headers });

      function charge(bytes: number): void {
        total += bytes;
        held += bytes;
        add(byWorkspace, workspaceId, bytes);
        if (network !== undefined) add(byAddress, network, bytes);
      }

      function hold(bytes: number): void {
        const steps = Math.max(1, Math.ceil(bytes / uploadStepBytes)) * uploadStepBytes;
        const more = steps - held;
        if (!isOpen || more <= 0) return;
        const share = steps > uploadStepBytes ? largeShare : 1;
        if ((byWorkspace.get(workspaceId) ?? 0) + more > limits.workspaceBytes * share)
          refuse('workspace', tooMany('This workspace sends too many large request bodies at once. Wait and retry.'));
        if (network !== undefined && (byAddress.get(network) ?? 0) + more > limits.addressBytes * share)
          refuse('address', tooMany('This address sends too many large request bodies at once. Wait and retry.'));
        if (total + more > limits.totalBytes * share)
          refuse('total', new Failure('overloaded', 'The service has no room for this request body right now.'));
        charge(more);
      }

      function complete(): void {
        if (arriving === undefined) return;
        waiting.delete(arriving.id);
        if (waiting.size > 0) return;
        disarm?.();
        disarm = undefined;
      }

      hold(0);
      return {
        begin: (expire) => {
          if (!isOpen || arriving !== undefined) return;
          const begun = { quietTicks: 0, ticksAtPace: 0, bytesAtLastTick: 0, bytesAtPaceStart: 0 };
          arriving = { ...begun, id: nextId++, bytes: 0, expire };
          waiting.set(arriving.id, arriving);
          arm();
        },
        hold: (arrivedBytes, memoryBytes) => {
          hold(memoryBytes);
          if (arriving !== undefined) arriving.bytes = arrivedBytes;
        },
        complete,
        close: () => {
          complete();
          if (isOpen) charge(-held);
          isOpen = false;
        },
      };
    },
  };
}

/** Counts one more look at an upload. */
function isTooSlow(arriving: Arriving): boolean {
  const { bytes } = arriving;
  arriving.quietTicks = bytes === arriving.bytesAtLastTick ? arriving.quietTicks + 1 : 0;
  arriving.bytesAtLastTick = bytes;
  if (arriving.quietTicks >= stalledTicks) return true;
  arriving.ticksAtPace += 1;
  if (arriving.ticksAtPace < paceTicks) return false;
  const isSlow = bytes - arriving.bytesAtPaceStart < leastBytes;
  arriving.ticksAtPace = 0;
  arriving.bytesAtPaceStart = bytes;
  return isSlow;
}

/** Zeros are not kept: workspaces and addresses come and go. */
function add(sums: Map<string, number>, name: string, bytes: number): void {
  const sum = (sums.get(name) ?? 0) + bytes;
  if (sum === 0) sums.delete(name);
  else sums.set(name, sum);
}
