import { EventEmitter } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import {
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';
import type { AtTurnEnd, Clock } from '../../core/clock.ts';
import { grpcOptions, type PortBounds } from '../../core/port-bounds.ts';
import { boundedStatus } from '../../core/one-line.ts';
import type { ConnectionMemory } from './buffered-memory.ts';
import { type Answering, type Call, type CallHandler, ProcessCall } from './call.ts';
import { ConnectionLoss } from './connection-loss.ts';

const protoFile = fileURLToPath(new URL('../../../protos/ext_proc.proto', import.meta.url));
const serviceName = 'envoy.service.ext_proc.v3.ExternalProcessor';

/** Loads the service that protos/ext_proc.proto defines. */
export async function loadExternalProcessor() {
  const { [serviceName]: service } = await load(protoFile, { keepCase: true });
  const process = service === undefined || 'format' in service ? undefined : service['Process'];
  if (process === undefined) throw new Error(`${protoFile} does not define ${serviceName}.Process`);
  const alreadyEncoded = (message: Buffer): Buffer => message;
  return {
    /** The service with this codec for its requests. Its responses are encoded before they are written. */
    serviceReading: (read: (bytes: Buffer) => object): ServiceDefinition => ({
      Process: { ...process, requestDeserialize: read, responseSerialize: alreadyEncoded },
    }),
    /** The generic codec of its messages. Fields have the names of the file. */
    readRequest: process.requestDeserialize,
    writeResponse: process.responseSerialize,
  };
}

const serverOptions = {
  // Channelz counts and dates every message, for a debugging service that is not used here.
  'grpc.enable_channelz': 0,
  // More streams than a machine can serve. Without a number, Envoy would stop at a lower one that it assumes.
  'grpc.max_concurrent_streams': 1_000_000,
};

/**
 * Envoys with another configuration reset the stream of every request that they have finished. Node treats more than 33
 * resets a second as an attack, and ends the connection with all its streams.
 */
const anyRate = { streamResetBurst: 2 ** 32 - 1, streamResetRate: 2 ** 32 - 1 };

/**
 * Bytes that may be on the way to us on all streams of a connection together. With HTTP/2's default of 64 KiB, the
 * first message of a small request waits behind every large upload (measured).
 */
const connectionWindowBytes = 16 * 1024 * 1024;

/**
 * Serves a socket like grpc-js, with two settings of node:http2 for which grpc-js has no options. The settings need private members
 * of grpc-js. Tests show the harm without them, and fail if another version of grpc-js has other members.
 */
function inject(server: Server, socket: Socket, memory: ConnectionMemory | undefined): void {
  const options: unknown = server['commonServerOptions'];
  if (typeof options !== 'object' || options === null)
    throw new Error('grpc-js keeps the options of node:http2 elsewhere');
  Object.assign(options, anyRate);
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const http2Servers: unknown = server['http2Servers'];
  const [http2Server]: unknown[] = http2Servers instanceof Map ? [...http2Servers.keys()] : [];
  if (!(http2Server instanceof EventEmitter)) throw new Error('grpc-js keeps the server of node:http2 elsewhere');
  http2Server.once('session', (session: ServerHttp2Session) => {
    session.setLocalWindowSize(connectionWindowBytes);
    if (memory === undefined) return;
    // Before grpc-js takes the stream.
    session.prependListener('stream', (stream, headers) => {
      memory.follow(stream);
      // A compressed message is a thousand times as long before it could be counted. With this name, grpc-js refuses it.
      if ('grpc-encoding' in headers) headers['grpc-encoding'] = 'refused';
    });
  });
  injector.injectConnection(socket);
}

/** The stream of a call, a private member of grpc-js. */
function streamOf(call: ServerInterceptingCallInterface): object {
  const stream = 'stream' in call ? call.stream : undefined;
  if (!(stream instanceof EventEmitter)) throw new Error('grpc-js keeps the stream of a call elsewhere');
  return stream;
}

/** One connection of Envoy, with all calls on it. */
export type Connection = ReturnType<typeof serveConnection>;

/**
 * Serves the calls of one connection. Each connection has a gRPC server of its own, so that a call knows its connection, which
 * grpc-js does not report. If a call ends together with its connection, its caller has not ended it.
 */
export function serveConnection<Message extends object>(options: {
  readonly socket: Socket;
  readonly service: ServiceDefinition;
  readonly answer: (call: Call, loss: ConnectionLoss) => CallHandler<Message>;
  /** Maximum length of a message. Absent: the 4 MiB of grpc-js. */
  readonly maxMessageBytes?: number;
  /** Counts what the connection holds, and refuses compressed messages. Absent: the peer is the Envoy of this machine. */
  readonly memory?: ConnectionMemory;
  /** Absent: the peer is an Envoy, that of this machine or another one behind it. */
  readonly bounds?: PortBounds | undefined;
  /** Adds further services, which grpc-js serves in the usual way. */
  readonly addServices?: (server: Server) => void;
  readonly atTurnEnd: AtTurnEnd;
  readonly clock: Pick<Clock, 'after'>;
}) {
  const { answer, atTurnEnd, bounds, clock, maxMessageBytes, memory, service, socket } = options;
  const loss = new ConnectionLoss(clock);
  let open = 0;
  let isDraining = false;
  const answering: Answering<Message> = {
    open: (call) => {
      open += 1;
      return answer(call, loss);
    },
    closed: () => (open -= 1),
    atTurnEnd,
  };
  const path = service['Process']?.path;
  const server = new Server({
    ...serverOptions,
    ...(bounds && grpcOptions(bounds)),
    ...(maxMessageBytes === undefined ? {} : { 'grpc.max_receive_message_length': maxMessageBytes }),
    interceptors: [
      (method, call) =>
        method.path === path
          ? new ProcessCall(call, answering, memory?.of(streamOf(call)))
          : new ServerInterceptingCall(call, boundedStatus),
    ],
  });
  server.addService(service, { Process: () => undefined });
  options.addServices?.(server);
  socket.on('close', () => {
    // A draining connection closes after its last call. Then no answer is lost.
    if (!isDraining || open > 0) loss.happened();
    server.forceShutdown();
    memory?.closed();
  });
  inject(server, socket, memory);
  return {
    /** Calls that have not ended. */
    open: (): number => open,
    /** Accepts no more calls, and closes after the last one. */
    drain: (): void => {
      isDraining = true;
      server.tryShutdown(() => undefined);
    },
    /** Closes now, with every call. */
    cut: (): void => {
      // The calls may end before the end of the connection is seen.
      if (open > 0) loss.happened();
      socket.destroy();
    },
  };
}
