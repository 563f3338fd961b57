import type { Clock, CancelTimer } from '../../../core/clock.ts';
import type { Delivery } from '../../../core/exchange.ts';
import type { EnvoyAdmin } from './admin.ts';
import { createKernelTables, type KernelTables } from './kernel-queues.ts';

/**
 * Limits the bytes that Envoy and the service hold for slow readers, for one reader and for all readers. ext_proc does
 * not report that a reader has stopped, and Envoy accepts all bytes. So the service samples Envoy's gauges of buffered
 * bytes and, if these are not zero, the kernel's queue of the reader's connection. It takes no sample while every
 * answer has less than half of its window unconfirmed.
 */
export type DownstreamBuffers = ReturnType<typeof createDownstreamBuffers>;

interface DownstreamBuffersOptions {
  readonly admin: Pick<EnvoyAdmin, 'stats'>;
  readonly clock: Clock;
  /** The tables of Envoy's network namespace. Default: the tables of this process's namespace. */
  readonly tables?: KernelTables;
  readonly limits?: DeliveryLimits;
}

/**
 * The limits of bytes that are sent to readers but not confirmed. All answers together have at most `totalBytes`, plus
 * one `smallWindowBytes` for each answer.
 */
interface DeliveryLimits {
  /** Limit for one answer. */
  readonly windowBytes: number;
  /**
   * Limit for all answers, where half of a small window for each answer is not counted. Above this limit, each answer
   * has only a small window.
   */
  readonly totalBytes: number;
  readonly smallWindowBytes: number;
}

export const deliveryLimits: DeliveryLimits = {
  windowBytes: 2 * 1024 * 1024,
  totalBytes: 64 * 1024 * 1024,
  smallWindowBytes: 128 * 1024,
};

/**
 * Shortest time between two samples. A sample has a cost with thousands of connections, so samples become rarer while
 * nothing changes.
 */
const fastestSampleMs = 50;
const slowestSampleMs = 800;
/** The wait after a sample, in multiples of the time for which the sample held the event loop. */
const restAfterSample = 9;

/** Rates for readers whose connection cannot be observed, in bytes a second. */
const trickle = {
  /** Most for one reader: several times what the fastest engine streams. */
  most: 256 * 1024,
  /** For all readers together. */
  total: 16 * 1024 * 1024,
  /**
   * Least for one of many readers: the speed of an engine. A reader that has stopped reaches Envoy's limit of 8 MiB in
   * four minutes.
   */
  least: 32 * 1024,
};

/** Bytes that each of `readers` readers gets in `ms` milliseconds. */
export function trickleOf(readers: number, ms: number): number {
  const share = trickle.total / Math.max(1, readers);
  return (Math.max(trickle.least, Math.min(trickle.most, share)) * ms) / 1_000;
}

interface Tracked {
  readonly peer: string;
  readonly http2: boolean;
  readonly window: DeliveryWindow;
  waiting: (() => void) | undefined;
}

export function createDownstreamBuffers(options: DownstreamBuffersOptions) {
  const { admin, clock, tables = createKernelTables(), limits = deliveryLimits } = options;
  const watched = new Set<Tracked>();
  /** Unconfirmed bytes of all open answers, where half of a small window for each answer is not counted. */
  let excessBytes = 0;
  /** The number of readers that the last sample could not observe. */
  let unclearReaders = 0;
  let cancel: CancelTimer | undefined;
  let everyMs = fastestSampleMs;
  let restMs = 0;
  let closed = false;

  const limitBytes = (): number => (excessBytes < limits.totalBytes ? limits.windowBytes : limits.smallWindowBytes);
  const excess = (window: DeliveryWindow): number => Math.max(0, unconfirmed(window) - limits.smallWindowBytes / 2);
  const schedule = (): void => {
    cancel ??= clock.after(Math.max(everyMs, restMs), () => void sample().finally(again));
  };
  const again = (): void => {
    cancel = undefined;
    if (watched.size > 0 && !closed) schedule();
  };

  const sample = async (): Promise<void> => {
    const observe = await takeSample(admin, tables);
    const begun = clock.elapsed();
    const trickleBytes = trickleOf(unclearReaders, Math.max(everyMs, restMs));
    unclearReaders = 0;
    everyMs = Math.min(everyMs * 2, slowestSampleMs);
    for (const tracked of watched) {
      const { window } = tracked;
      const { confirmed } = window;
      const observation = observe(tracked);
      if (observation === 'unclear') unclearReaders += 1;
      excessBytes -= excess(window);
      applyObservation(window, observation, trickleBytes);
      excessBytes += excess(window);
      if (window.confirmed > confirmed) everyMs = fastestSampleMs;
    }
    restMs = restAfterSample * (clock.elapsed() - begun);
    // After all windows are up to date, because bytes that one reader has received make room for the others.
    for (const tracked of watched) {
      if (!hasRoom(tracked.window, limitBytes())) continue;
      const run = tracked.waiting;
      tracked.waiting = undefined;
      if (!isWatched(tracked.window, limitBytes())) watched.delete(tracked);
      run?.();
    }
  };

  const watch = (tracked: Tracked): void => {
    if (watched.has(tracked)) return;
    tracked.window.marked = tracked.window.written;
    watched.add(tracked);
    everyMs = fastestSampleMs;
    schedule();
  };

  return {
    /** `connection`: the header `x-weir-client-connection`, an `address:port` and a protocol. */
    open: (connection: string): Delivery => {
      const [peer = '', protocol = ''] = connection.split(' ');
      const tracked: Tracked = {
        peer,
        http2: protocol === 'HTTP/2',
        window: openWindow(),
        waiting: undefined,
      };
      return {
        wrote: (bytes) => {
          const { window } = tracked;
          excessBytes -= excess(window);
          window.written += bytes;
          excessBytes += excess(window);
          if (!isWatched(window, limitBytes())) return true;
          watch(tracked);
          return hasRoom(window, limitBytes());
        },
        onRoom: (run) => {
          if (hasRoom(tracked.window, limitBytes())) {
            run();
            return;
          }
          tracked.waiting = run;
          // Since the last write, the answer's window may have become a small one.
          watch(tracked);
        },
        release: () => {
          tracked.waiting = undefined;
          excessBytes -= excess(tracked.window);
          tracked.window.confirmed = tracked.window.written;
          watched.delete(tracked);
        },
      };
    },
    close: (): void => {
      closed = true;
      cancel?.();
    },
  };
}

/**
 * How many bytes of one answer may be on their way to its reader, unconfirmed.
 *
 *   written ──────────────► bytes handed to Envoy
 *   marked ───────────►     bytes written at the last sample, which is all that a sample taken now can confirm
 *   confirmed ────►         bytes known to have reached the reader's kernel
 */
interface DeliveryWindow {
  written: number;
  marked: number;
  confirmed: number;
}

export function openWindow(): DeliveryWindow {
  return { written: 0, marked: 0, confirmed: 0 };
}

export function unconfirmed(window: DeliveryWindow): number {
  return window.written - window.confirmed;
}

/** Whether another piece may be written. The last piece may reach over the limit: a piece is never cut. */
export function hasRoom(window: DeliveryWindow, limitBytes: number): boolean {
  return unconfirmed(window) < limitBytes;
}

/** Whether samples are needed for this answer. A reader that keeps up is confirmed long before it reaches the limit. */
export function isWatched(window: DeliveryWindow, limitBytes: number): boolean {
  return unconfirmed(window) > limitBytes / 2;
}

/** What a sample shows about the connection of an answer. */
type DeliveryObservation =
  /** Nothing written before the last sample is still held for the reader. */
  | 'clear'
  /** Bytes that were sent to the reader are still held for it. */
  | 'held'
  /** Bytes are held for some reader, but the sample does not show for which one. */
  | 'unclear';

/**
 * Applies a sample. Bytes written since the sample before may not have reached Envoy yet, so `clear` confirms only up
 * to the mark. `unclear` confirms `trickleBytes` more: a reader that keeps up goes on slowly, and Envoy ends the
 * connection of a reader that has stopped when it holds too much for that reader.
 */
export function applyObservation(window: DeliveryWindow, observation: DeliveryObservation, trickleBytes: number): void {
  switch (observation) {
    case 'clear':
      window.confirmed = Math.max(window.confirmed, window.marked);
      break;
    case 'held':
      break;
    case 'unclear':
      window.confirmed = Math.min(window.written, window.confirmed + trickleBytes);
      break;
  }
  window.marked = window.written;
}

/** Up to this, Envoy's buffers do not matter: these are bytes on their way through, of all streams together. */
const floorBytes = 64 * 1024;

/**
 * The first gauge counts bytes of HTTP/1.1 answers, and of HTTP/2 answers past flow control. The second counts bytes of
 * HTTP/2 answers that flow control holds.
 */
const writeGauge = 'http.edge.downstream_cx_tx_bytes_buffered';
const flowGauge = 'http2.pending_send_bytes';

/** Reads the gauges, and the kernel's tables if need be, once for all answers. Resolves to a function that observes one answer. */
async function takeSample(
  admin: DownstreamBuffersOptions['admin'],
  tables: KernelTables,
): Promise<(tracked: Tracked) => DeliveryObservation> {
  const gauges = await admin.stats([writeGauge, flowGauge]).catch(() => undefined);
  const inConnections = Number(gauges?.get(writeGauge) ?? (gauges === undefined ? Infinity : 0));
  const inStreams = Number(gauges?.get(flowGauge) ?? (gauges === undefined ? Infinity : 0));
  if (inConnections + inStreams <= floorBytes) return () => 'clear';
  const queues = await tables.look();
  return ({ peer, http2 }) => {
    const queue = queues?.queueOf(peer);
    // The kernel does not print its table in one go. While thousands of connections come and go, the row of an open
    // connection can be missing. If the connection has ended, the result does not matter any more.
    if (queue === undefined && queues !== undefined) return 'unclear';
    // Envoy keeps bytes of its own only while the kernel's queue is full. So an empty queue means that Envoy holds
    // nothing for the connection, except bytes that HTTP/2 flow control holds. These are only counted for all
    // connections together.
    if (queue === 0) return http2 && inStreams > floorBytes ? 'unclear' : 'clear';
    if (queue === undefined) return inConnections <= floorBytes && !http2 ? 'clear' : 'unclear';
    return 'held';
  };
}
