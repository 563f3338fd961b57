import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AtTurnEnd, Clock } from '../core/clock.ts';
import type { Exchange } from '../core/exchange.ts';
import type { Call, CallHandler } from './call.ts';
import { type Connection, loadExternalProcessor, serveConnection } from './connection.ts';
import type { ConnectionLoss } from './connection-loss.ts';
import { ExtProcExchange, type OpenDelivery } from './exchange.ts';
import { type ProcessingRequest, readProcessingRequest } from './wire.ts';

export interface ExtProcServer {
  /** Streams open now. */
  readonly open: () => number;
  /** Accepts no new streams, waits up to `graceMs` for the open ones, then cuts the others and removes the socket. */
  readonly close: (graceMs: number) => Promise<void>;
}

/**
 * Listens for Envoy's ext_proc streams on a Unix socket and hands each to `handle` as an HTTP exchange.
 * https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/service/ext_proc/v3/external_processor.proto
 */
export async function listenExtProc(options: {
  readonly socketPath: string;
  /** Must not throw: every failure of a request is an answer. */
  readonly handle: (exchange: Exchange) => void;
  readonly openDelivery: OpenDelivery;
  /** Requests are handled when the turn of the event loop that brought them ends. */
  readonly atTurnEnd: AtTurnEnd;
  readonly clock: Pick<Clock, 'after'>;
}): Promise<ExtProcServer> {
  const { atTurnEnd, clock, handle, openDelivery, socketPath } = options;
  const service = (await loadExternalProcessor()).serviceReading(readProcessingRequest);
  const connections = new Set<Connection>();

  /** One call of `ExternalProcessor.Process`. */
  function answerCall(call: Call, loss: ConnectionLoss): CallHandler<ProcessingRequest> {
    let exchange: ExtProcExchange | undefined;
    return {
      message: (message) => {
        switch (message.kind) {
          case 'headers':
            // A second head would leave the first request without an end: the first request would not learn that its
            // caller has left.
            if (exchange !== undefined) return;
            exchange = new ExtProcExchange(call, message.headers, {
              ...{ endOfStream: message.endOfStream, openDelivery, loss },
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

  // Envoy keeps one connection per worker thread and multiplexes every request over it.
  const server = createServer((socket) => {
    const connection = serveConnection({
      socket,
      service,
      answer: answerCall,
      atTurnEnd,
      clock,
    });
    connections.add(connection);
    socket.on('close', () => connections.delete(connection));
  });
  // A socket file left by a killed process stops the bind with EADDRINUSE.
  await rm(socketPath, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    open: () => [...connections].reduce((sum, connection) => sum + connection.open(), 0),
    close: async (graceMs) => {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => {
          for (const connection of connections) connection.cut();
        }, graceMs);
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
        for (const connection of connections) connection.drain();
      });
      await rm(socketPath, { force: true });
    },
  };
}
