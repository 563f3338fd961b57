import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { Exchange } from '../../core/exchange.ts';
import { type Call, ExtProcExchange, type OpenDelivery } from './exchange.ts';
import { widenWindows } from './widen-windows.ts';
import { type ProcessingRequest, readProcessingRequest } from './wire.ts';

const protoFile = fileURLToPath(new URL('../../../protos/ext_proc.proto', import.meta.url));

export interface ExtProcServer {
  /** Streams open now. */
  readonly open: () => number;
  /** Takes no new streams, waits for the open ones up to `graceMs`, then cuts what is left; removes the socket. */
  readonly close: (graceMs: number) => Promise<void>;
}

/**
 * The service definition as the proto file declares it, with the codec of wire.ts in place of the generic one.
 * https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/service/ext_proc/v3/external_processor.proto
 */
function processDefinition(): ServiceDefinition {
  const service = loadSync(protoFile, { keepCase: true })['envoy.service.ext_proc.v3.ExternalProcessor'];
  const method = service === undefined || 'format' in service ? undefined : service['Process'];
  if (method === undefined) throw new Error(`${protoFile} does not declare ExternalProcessor.Process`);
  return {
    Process: { ...method, requestDeserialize: readProcessingRequest, responseSerialize: (bytes: Buffer) => bytes },
  };
}

/** Listens for Envoy's ext_proc streams on a Unix socket and hands each to `handle` as an HTTP exchange. */
export async function listenExtProc(options: {
  readonly socketPath: string;
  /** Must not throw: every failure of a request is an answer. */
  readonly handle: (exchange: Exchange) => void;
  readonly openDelivery: OpenDelivery;
}): Promise<ExtProcServer> {
  const { openDelivery } = options;
  let open = 0;
  const server = new Server({
    'grpc.enable_channelz': 0,
    // Envoy keeps one connection per worker thread and multiplexes every request over it.
    'grpc.max_concurrent_streams': 1_000_000,
    'grpc.max_receive_message_length': 4 * 1024 * 1024,
  });
  server.addService(processDefinition(), {
    Process: (call: Call) => {
      open += 1;
      let exchange: ExtProcExchange | undefined;
      let closed = false;
      const leave = (): void => exchange?.leave();
      call.on('data', (message: ProcessingRequest) => {
        switch (message.kind) {
          case 'headers':
            // A second head would leave the first request without anybody to tell it that its caller has left.
            if (exchange !== undefined) return;
            exchange = new ExtProcExchange(call, message.headers, { endOfStream: message.endOfStream, openDelivery });
            options.handle(exchange);
            return;
          case 'body':
            exchange?.receive(message.body, message.endOfStream);
            return;
          case 'trailers':
            // Trailers end the body; what they say is not ours to read.
            exchange?.receive(Buffer.alloc(0), true);
            return;
          case 'other':
            return;
        }
      });
      call.on('end', () => {
        if (exchange === undefined) call.end();
        leave();
      });
      call.on('cancelled', leave);
      call.on('error', leave);
      call.on('close', () => {
        if (!closed) open -= 1;
        closed = true;
        leave();
      });
    },
  });
  const windows = widenWindows();
  // A socket file left by a killed process stops the bind with EADDRINUSE.
  await rm(options.socketPath, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${options.socketPath}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  return {
    open: () => open,
    close: async (graceMs) => {
      await new Promise<void>((resolve) => {
        // Without channelz, `forceShutdown` of grpc-js 1.14 knows no connection, and `tryShutdown` would wait for ever.
        const timer = setTimeout(windows.cut, graceMs);
        server.tryShutdown(() => {
          clearTimeout(timer);
          resolve();
        });
      });
      windows.stop();
      await rm(options.socketPath, { force: true });
    },
  };
}
