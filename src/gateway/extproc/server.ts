import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import type { AtTurnEnd, Clock } from '../../core/clock.ts';
import type { Exchange } from '../../core/exchange.ts';
import { type ConnectionBounds, injectBounded } from '../../core/port-bounds.ts';
import { tagsHeader } from '../../core/tags.ts';
import type { Call, CallHandler } from './call.ts';
import { type Connection, loadExternalProcessor, serveConnection } from './connection.ts';
import type { ConnectionLoss } from './connection-loss.ts';
import { ExtProcExchange, type OpenDelivery } from './exchange.ts';
import { type ProcessingRequest, readProcessingRequest } from './wire.ts';

export type ExtProcServer = Awaited<ReturnType<typeof listenExtProc>>;

/**
 * Listens for Envoy's ext_proc streams on a Unix socket and hands each to `handle` as an HTTP exchange.
 * https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/service/ext_proc/v3/external_processor.proto
 */
export async function listenExtProc(options: {
  readonly socketPath: string;
  /**
   * A second socket, for streams of an Envoy that nothing is known of. Anybody may speak there, so their heads have no header of our own,
   * and the number of their connections has a bound. Undefined: there is none.
   */
  readonly strangers?: { readonly socketPath: string; readonly bounds: ConnectionBounds } | undefined;
  /** Must not throw: every failure of a request is an answer. */
  readonly handle: (exchange: Exchange) => void;
  readonly openDelivery: OpenDelivery;
  /** Requests are handled when the turn of the event loop that brought them ends. */
  readonly atTurnEnd: AtTurnEnd;
  readonly clock: Pick<Clock, 'after'>;
}) {
  const { atTurnEnd, clock, handle, openDelivery, socketPath, strangers } = options;
  const service = (await loadExternalProcessor()).serviceReading(readProcessingRequest);
  const connections = new Map<Socket, Connection>();

  /** Serves a connection. Envoy keeps one per worker thread and multiplexes every request over it. */
  function serve(socket: Socket, headersOf: (sent: HeaderMap) => HeaderMap): void {
    const connection = serveConnection({
      socket,
      service,
      atTurnEnd,
      clock,
      answer: (call: Call, loss) => answerCall(call, { loss, headersOf, handle, openDelivery }),
    });
    connections.set(socket, connection);
    socket.on('close', () => connections.delete(socket));
  }

  function serverForStrangers(bounds: ConnectionBounds): Server {
    const server = createServer();
    // Without pings: while a pod ends, they would cut the last streams of the other Envoy.
    injectBounded(server, {
      bounds,
      security: 'none',
      inject: (socket: Socket) => serve(socket, withoutOwnHeaders),
      isBusy: (socket: Socket) => (connections.get(socket)?.open() ?? 0) > 0,
    });
    return server;
  }

  const own = createServer((socket) => serve(socket, (sent) => sent));
  const sockets: readonly Listening[] = [
    { path: socketPath, server: own },
    ...(strangers === undefined ? [] : [{ path: strangers.socketPath, server: serverForStrangers(strangers.bounds) }]),
  ];
  await Promise.all(sockets.map(listen));
  return {
    /** Streams open now. */
    open: (): number => [...connections.values()].reduce((sum, connection) => sum + connection.open(), 0),
    /** Accepts no new streams, waits up to `graceMs` for the open ones, then cuts the others and removes the socket. */
    close: async (graceMs: number): Promise<void> => {
      const timer = setTimeout(() => {
        for (const connection of connections.values()) connection.cut();
      }, graceMs);
      const closed = sockets.map(({ server }) => new Promise<void>((resolve) => server.close(() => resolve())));
      for (const connection of connections.values()) connection.drain();
      await Promise.all(closed);
      clearTimeout(timer);
      await Promise.all(sockets.map(({ path }) => rm(path, { force: true })));
    },
  };
}

interface CallParts extends Pick<Parameters<typeof listenExtProc>[0], 'handle' | 'openDelivery'> {
  readonly loss: ConnectionLoss;
  readonly headersOf: (sent: HeaderMap) => HeaderMap;
}

/** One call of `ExternalProcessor.Process`. `headersOf`: the headers of a request that are believed. */
function answerCall(call: Call, { loss, headersOf, handle, openDelivery }: CallParts): CallHandler<ProcessingRequest> {
  let exchange: ExtProcExchange | undefined;
  return {
    message: (message) => {
      switch (message.kind) {
        case 'headers':
          // A second head would leave the first request without an end: the first request would not learn that its
          // caller has left.
          if (exchange !== undefined) return;
          exchange = new ExtProcExchange(call, headersOf(message.headers), {
            endOfStream: message.endOfStream,
            openDelivery,
            loss,
          });
          handle(exchange);
          return;
        case 'body':
          exchange?.receive(message.body, message.endOfStream);
          return;
        case 'trailers':
          // Trailers end the body. Their contents are not read.
          exchange?.receive(Buffer.alloc(0), true);
          return;
        case 'other':
          return;
      }
    },
    over: () => {
      if (exchange === undefined) call.end();
      else exchange.leave();
    },
  };
}

interface Listening {
  readonly path: string;
  readonly server: Server;
}

async function listen({ path, server }: Listening): Promise<void> {
  // A socket file left by a killed process stops the bind with EADDRINUSE.
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

type HeaderMap = ReadonlyMap<string, string>;

/** Drops the headers with a meaning inside the gateway, as the edge does (src/control/envoy/config/edge-listener.ts). `x-weir-tags` is for callers. */
function withoutOwnHeaders(sent: HeaderMap): HeaderMap {
  return new Map([...sent].filter(([name]) => !name.startsWith('x-weir-') || name === tagsHeader));
}
