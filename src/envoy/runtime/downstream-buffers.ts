import type { Clock, CancelTimer } from '../../core/clock.ts';
import type { Delivery } from '../../core/exchange.ts';
import type { EnvoyAdmin } from './admin.ts';
import { applySample, type DeliveryWindow, hasRoom, isWatched, openWindow, type Sight } from './delivery-window.ts';
import { createKernelTables, type KernelTables } from './kernel-queues.ts';

/**
 * Keeps what Envoy and the service hold for one slow reader below a limit. ext_proc tells the service nothing of a reader
 * that stops, and Envoy takes all it is sent; so the service looks: into Envoy's gauges of buffered bytes, and, when
 * those are not empty, into the kernel's queue of the reader's connection. Nothing is looked at while every answer has
 * less than half of its window on the way.
 */
export interface DownstreamBuffers {
  /** `connection`: the header `x-weir-client-connection`, an `address:port` and a protocol. */
  readonly open: (connection: string) => Delivery;
  readonly close: () => void;
}

export interface DownstreamBuffersOptions {
  readonly admin: Pick<EnvoyAdmin, 'stats'>;
  readonly clock: Clock;
  /** Bytes one answer may have on the way. Default 2 MiB. */
  readonly windowBytes?: number;
}

const defaultWindowBytes = 2 * 1024 * 1024;

/** Looking is cheap, but not free with thousands of connections: less often while nothing changes. */
const fastestSampleMs = 50;
const slowestSampleMs = 800;

/** What a reader gets of whom nothing can be seen: 256 KiB a second, several times what the fastest engine streams. */
const trickleBytesPerMs = (256 * 1024) / 1_000;

/** Below this Envoy holds nothing worth the name: bytes on their way through, of all streams together. */
const floorBytes = 64 * 1024;

/** Bytes of HTTP/1.1 answers (and of HTTP/2 ones past flow control), and of HTTP/2 ones that flow control holds. */
const writeGauge = 'http.edge.downstream_cx_tx_bytes_buffered';
const flowGauge = 'http2.pending_send_bytes';

interface Tracked {
  readonly peer: string;
  readonly http2: boolean;
  readonly window: DeliveryWindow;
  waiting: (() => void) | undefined;
}

export function createDownstreamBuffers(options: DownstreamBuffersOptions): DownstreamBuffers {
  const { admin, clock, windowBytes = defaultWindowBytes } = options;
  const tables = createKernelTables();
  const watched = new Set<Tracked>();
  let disarm: CancelTimer | undefined;
  let everyMs = fastestSampleMs;
  let closed = false;

  const arm = (): void => {
    disarm ??= clock.after(everyMs, () => void sample().finally(again));
  };
  const again = (): void => {
    disarm = undefined;
    if (watched.size > 0 && !closed) arm();
  };

  const sample = async (): Promise<void> => {
    const look = await takeLook(admin, tables);
    const trickleBytes = trickleBytesPerMs * everyMs;
    everyMs = Math.min(everyMs * 2, slowestSampleMs);
    for (const tracked of watched) {
      const before = tracked.window.confirmed;
      applySample(tracked.window, look(tracked), trickleBytes);
      if (tracked.window.confirmed > before) everyMs = fastestSampleMs;
      if (!hasRoom(tracked.window)) continue;
      const run = tracked.waiting;
      tracked.waiting = undefined;
      if (!isWatched(tracked.window)) watched.delete(tracked);
      run?.();
    }
  };

  return {
    open: (connection) => {
      const [peer = '', protocol = ''] = connection.split(' ');
      const tracked: Tracked = {
        peer,
        http2: protocol === 'HTTP/2',
        window: openWindow(windowBytes),
        waiting: undefined,
      };
      return {
        wrote: (bytes) => {
          const { window } = tracked;
          window.written += bytes;
          if (!isWatched(window)) return true;
          if (!watched.has(tracked)) {
            window.marked = window.written;
            watched.add(tracked);
            everyMs = fastestSampleMs;
            arm();
          }
          return hasRoom(window);
        },
        onRoom: (run) => {
          if (hasRoom(tracked.window)) run();
          else tracked.waiting = run;
        },
        release: () => {
          tracked.waiting = undefined;
          watched.delete(tracked);
        },
      };
    },
    close: () => {
      closed = true;
      disarm?.();
    },
  };
}

/** Looks once, and tells of each answer what it saw. */
async function takeLook(
  admin: DownstreamBuffersOptions['admin'],
  tables: KernelTables,
): Promise<(tracked: Tracked) => Sight> {
  const gauges = await admin.stats([writeGauge, flowGauge]).catch(() => undefined);
  const inConnections = Number(gauges?.get(writeGauge) ?? (gauges === undefined ? Infinity : 0));
  const inStreams = Number(gauges?.get(flowGauge) ?? (gauges === undefined ? Infinity : 0));
  if (inConnections + inStreams <= floorBytes) return () => 'clear';
  const queues = await tables.look();
  return ({ peer, http2 }) => {
    const queue = queues?.queueOf(peer);
    // The kernel does not print its table in one breath: with thousands of connections coming and going a row can be
    // missing that is there. One that has ended in truth is nobody's concern any more.
    if (queue === undefined && queues !== undefined) return 'unclear';
    // Envoy keeps bytes of its own only while the kernel's queue is full; one that is empty has none behind it, except
    // those that HTTP/2 flow control holds, and these are counted for all connections together.
    if (queue === 0) return http2 && inStreams > floorBytes ? 'unclear' : 'clear';
    if (queue === undefined) return inConnections <= floorBytes && !http2 ? 'clear' : 'unclear';
    return 'held';
  };
}
