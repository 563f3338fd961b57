import { addTo } from './sums.ts';

/**
 * Bounds of every port that strangers can reach: those that the programs open over TCP, and the one that Envoy forwards to a Unix socket.
 * The edge's own are Envoy's.
 *
 * The other Unix sockets (ext_proc of the edge, endpoint discovery, Envoy's spans) have none. They are in a folder that only the own user
 * or the own pod can enter, and their only caller is the service's Envoy, with a connection for each of its threads. Strangers' requests
 * are streams on these connections, which admission bounds. A bound would protect from nobody, and could refuse a thread of Envoy.
 */

/** How many connections all callers of a port may hold together. Without a bound, strangers could use up all files of a program. */
export interface ConnectionBounds {
  readonly maxConnections: number;
  /** Undefined for a Unix socket, whose connections have no address. */
  readonly maxPerAddress?: number;
}

/** What all callers of a port may hold together, and for how long. */
export interface PortBounds extends ConnectionBounds {
  readonly maxPerAddress: number;
  /** Longest head of a request, bytes. */
  readonly maxHeadBytes: number;
  /** Longest time until a head has arrived, or until a TLS handshake has ended, or until a silent peer answers a ping. */
  readonly maxHeadMs: number;
  /** Longest time until a whole request has arrived. */
  readonly maxRequestMs: number;
  /** Longest time for which a connection without a request is kept, and for which an answer is not read. */
  readonly maxIdleMs: number;
  /** Most calls on one connection at a time, for gRPC. */
  readonly maxCalls: number;
}

const ofPrograms = {
  maxConnections: 256,
  maxPerAddress: 64,
  maxHeadBytes: 16 * 1024,
  maxHeadMs: 10_000,
  maxRequestMs: 20_000,
  maxIdleMs: 30_000,
  maxCalls: 100,
} as const satisfies PortBounds;

export const portBounds = {
  /** Probes, Prometheus, the portal, and autoscalers. */
  ops: ofPrograms,
  /** A browser opens six connections. Many people may share an address. Events have a heartbeat every 15 s. */
  portal: { ...ofPrograms, maxConnections: 5_000, maxPerAddress: 500, maxIdleMs: 120_000 },
  /** Each thread of a gateway has a connection, with a stream for each of its requests. */
  picker: { ...ofPrograms, maxConnections: 1_024, maxPerAddress: 256, maxIdleMs: 300_000, maxCalls: 20_000 },
  pickerHealth: ofPrograms,
  /**
   * Each thread of another Envoy has a connection, with a stream for each of its requests. All come through the own Envoy.
   * The connections have no bound in time: the pings that such a bound needs would cut the last streams while a pod ends. Admission
   * bounds the streams.
   */
  otherEnvoys: { maxConnections: 1_024 },
} as const satisfies Readonly<Record<string, PortBounds | ConnectionBounds>>;

/** Share of the files of a program that the connections of one port may take. */
const shareOfFiles = 1 / 8;

/** The bounds of a port in a program that may have only so many files open. Undefined: no limit is known. */
export function boundsWithin<Bounds extends ConnectionBounds>(
  bounds: Bounds,
  maxOpenFiles: number | undefined,
): Bounds {
  const fitting = Math.max(8, Math.floor((maxOpenFiles ?? Infinity) * shareOfFiles));
  const maxConnections = Math.min(bounds.maxConnections, fitting);
  const { maxPerAddress } = bounds;
  if (maxPerAddress === undefined) return { ...bounds, maxConnections };
  return { ...bounds, maxConnections, maxPerAddress: Math.min(maxPerAddress, Math.ceil(maxConnections / 2)) };
}

/** The options of node:http for a port. */
export function httpOptions({ maxHeadBytes, maxHeadMs, maxIdleMs, maxRequestMs }: PortBounds) {
  return {
    maxHeaderSize: maxHeadBytes,
    headersTimeout: maxHeadMs,
    requestTimeout: maxRequestMs,
    keepAliveTimeout: maxIdleMs,
    connectionsCheckingInterval: Math.ceil(maxHeadMs / 5),
  };
}

/**
 * The options of grpc-js for a port. A peer that answers no ping is cut. Node limits the heads itself, to 64 KiB and 128 fields.
 */
export function grpcOptions({ maxCalls, maxHeadMs, maxIdleMs }: PortBounds) {
  return {
    'grpc.max_concurrent_streams': maxCalls,
    'grpc.max_connection_idle_ms': maxIdleMs,
    'grpc.keepalive_time_ms': maxHeadMs,
    'grpc.keepalive_timeout_ms': maxHeadMs,
  };
}

/** The part of node's sockets that is needed here. */
interface BoundedSocket {
  readonly remoteAddress?: string | undefined;
  readonly destroyed: boolean;
  readonly destroy: () => unknown;
  readonly once: (event: 'close', listener: () => void) => unknown;
}

/** The part of node's servers of TCP, TLS and HTTP that is needed here. */
interface BoundedServer<Socket extends BoundedSocket> {
  readonly on: (event: 'connection', listener: (socket: Socket) => void) => unknown;
}

/** Open connections, and connections that were refused since the start. */
export interface ConnectionCounts {
  readonly open: number;
  readonly refused: { readonly address: number; readonly total: number };
}

interface BoundConnections {
  readonly counts: () => ConnectionCounts;
  /** Closes all connections now. */
  readonly cut: () => void;
}

/**
 * Bounds the connections of a server. A connection beyond those of its address is refused. A connection beyond those of all replaces the
 * oldest one without a request, so that a stranger with silent connections does not keep out a probe; if all have requests, it is
 * refused. `isBusy`: whether a connection has a request.
 */
export function boundConnections<Socket extends BoundedSocket>(
  server: BoundedServer<Socket>,
  {
    bounds: { maxConnections, maxPerAddress = maxConnections },
    isBusy,
  }: { readonly bounds: ConnectionBounds; readonly isBusy: (socket: Socket) => boolean },
): BoundConnections {
  const open = new Set<Socket>();
  const byAddress = new Map<string | undefined, number>();
  const refused = { address: 0, total: 0 };

  /** Whether there is room for one more, perhaps in the place of a connection without a request. */
  function makeRoom(): boolean {
    if (open.size < maxConnections) return true;
    for (const socket of open) {
      if (isBusy(socket)) continue;
      open.delete(socket);
      socket.destroy();
      return true;
    }
    return false;
  }

  function refuse(socket: Socket, bound: keyof typeof refused): void {
    refused[bound] += 1;
    socket.destroy();
  }

  server.on('connection', (socket) => {
    const address = socket.remoteAddress;
    const ofAddress = (byAddress.get(address) ?? 0) + 1;
    if (address !== undefined && ofAddress > maxPerAddress) {
      refuse(socket, 'address');
      return;
    }
    if (!makeRoom()) {
      refuse(socket, 'total');
      return;
    }
    open.add(socket);
    addTo(byAddress, address, 1);
    socket.once('close', () => {
      open.delete(socket);
      addTo(byAddress, address, -1);
    });
  });
  return {
    counts: () => ({ open: open.size, refused: { ...refused } }),
    cut: () => {
      for (const socket of open) socket.destroy();
    },
  };
}

/** The part of a server of node:http that is needed here. */
interface BoundedHttpServer extends BoundedServer<BoundedSocket> {
  timeout: number;
  readonly on: BoundedServer<BoundedSocket>['on'] &
    ((
      event: 'request',
      listener: (
        request: { readonly socket: BoundedSocket },
        response: { readonly once: (event: 'close', listener: () => void) => unknown },
      ) => void,
    ) => unknown);
}

/** `boundConnections` for HTTP, which also ends a connection on which nothing moves, even if its answer is not read. */
export function boundHttpConnections(server: BoundedHttpServer, bounds: PortBounds): () => ConnectionCounts {
  const busy = new WeakSet<BoundedSocket>();
  server.timeout = bounds.maxIdleMs;
  server.on('request', ({ socket }, response) => {
    busy.add(socket);
    response.once('close', () => busy.delete(socket));
  });
  return boundConnections(server, { bounds, isBusy: (socket) => busy.has(socket) }).counts;
}

/** The part of a server of node:net or node:tls that is needed here. */
interface BoundedListener<Socket extends BoundedSocket> extends BoundedServer<Socket> {
  readonly on: BoundedServer<Socket>['on'] &
    ((event: 'secureConnection', listener: (socket: Socket) => void) => unknown) &
    ((event: 'tlsClientError', listener: (error: Error, socket: Socket) => void) => unknown);
}

/**
 * `boundConnections` for a listener whose connections another server takes: that of grpc-js, whose own listener has no bounds. Under TLS
 * it takes the connection after the handshake. Without `isBusy`, all connections count as busy.
 */
export function injectBounded<Socket extends BoundedSocket>(
  listener: BoundedListener<Socket>,
  options: {
    readonly bounds: ConnectionBounds;
    readonly security: 'tls' | 'none';
    readonly inject: (socket: Socket) => void;
    readonly isBusy?: (socket: Socket) => boolean;
  },
): BoundConnections {
  const { bounds, security, inject, isBusy = () => true } = options;
  const connections = boundConnections(listener, { bounds, isBusy });
  const take = (socket: Socket): void => {
    // A refused connection is closed already.
    if (!socket.destroyed) inject(socket);
  };
  if (security === 'none') listener.on('connection', take);
  else {
    listener.on('secureConnection', take);
    // Node reports a handshake that took too long, and leaves the connection open.
    listener.on('tlsClientError', (_, socket) => socket.destroy());
  }
  return connections;
}
