import { createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import { Server, ServerCredentials, ServerInterceptingCall } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import type { AtTurnEnd, Clock } from '../../core/clock.ts';
import { boundedStatus } from '../../core/one-line.ts';
import type { EndpointPicker } from './picker.ts';
import { grpcOptions, injectBounded, portBounds, type PortBounds } from '../../core/port-bounds.ts';
import { createBufferedMemory } from '../../gateway/extproc/buffered-memory.ts';
import { createByteBudget } from '../../gateway/extproc/byte-budget.ts';
import { type Connection, loadExternalProcessor, serveConnection } from '../../gateway/extproc/connection.ts';
import { PickedExchange } from './picked-exchange.ts';
import { type PickerMessage, readPickerMessage } from './picker-wire.ts';

export type PickerServer = Awaited<ReturnType<typeof listenPicker>>;

export interface PickerServerOptions {
  readonly host: string;
  /** 0 takes a free port, also for health. */
  readonly port: number;
  readonly healthPort: number;
  /** PEM. Undefined: gRPC without TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** PEM of the authorities that sign the certificates of gateways. Undefined: gateways need none. */
  readonly clientCa?: string | undefined;
  readonly picker: EndpointPicker;
  readonly atTurnEnd: AtTurnEnd;
  readonly clock: Pick<Clock, 'after'>;
  readonly bounds?: { readonly streams: PortBounds; readonly health: PortBounds };
  /** A connection was closed, because all connections held too much. */
  readonly onCut: (sender: string) => void;
  /** Replaces `maxBufferedBytes` in tests. */
  readonly maxBuffered?: number;
}

/** Maximum memory of all bodies until they have gone on. A body beyond it goes on without being read. */
const maxHeldBytes = 256 * 1024 * 1024;

/** Maximum memory of all messages that are not complete, and of all answers that gateways do not read. */
const maxBufferedBytes = 256 * 1024 * 1024;

/** Maximum length of a message: a body that a gateway has buffered comes in one, and a longer one would not be read. */
const maxMessageBytes = 11 * 1024 * 1024;

/** Maximum length of a message on the port for probes, whose messages have only the name of a service. */
const maxProbeBytes = 16 * 1024;

const defaultBounds = { streams: portBounds.picker, health: portBounds.pickerHealth } as const;

/**
 * The sender of all requests on a connection. A certificate that an authority of the gateways has signed proves more than an address,
 * and is the same for all replicas of a gateway.
 */
function senderOf(socket: Socket): string {
  const certificate = socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
  if (certificate === undefined) return `address ${socket.remoteAddress}`;
  return `certificate ${certificate.subject} ${certificate.subjectAltName ?? ''}`;
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/**
 * The services whose state is reported: those of the protocol, the one that the extension's own deployments probe, and the whole server.
 * `liveness` is always serving.
 */
const readyServices = ['', 'readiness', 'inference-extension', 'envoy.service.ext_proc.v3.ExternalProcessor'];

/**
 * Listens for the ext_proc streams of gateways that ask for endpoints, and for gRPC health checks on the same port and, without TLS, on
 * one of their own: the kubelet's probes know no TLS.
 */
export async function listenPicker(options: PickerServerOptions) {
  const { host, tls, picker, atTurnEnd, clock, bounds = defaultBounds } = options;
  const protocol = await loadExternalProcessor();
  const service = protocol.serviceReading((bytes) => readPickerMessage(protocol.readRequest(bytes)));
  const budget = createByteBudget(maxHeldBytes);
  const buffered = createBufferedMemory(options.maxBuffered ?? maxBufferedBytes);
  const health = new HealthImplementation({ liveness: 'SERVING' });
  /** By the address and the port of the peer: under TLS, the socket of a connection is another one than that of its bytes. */
  const connections = new Map<string, Connection>();

  const serve = (socket: Socket): void => {
    const sender = senderOf(socket);
    // Inside a read, the socket cannot be closed.
    const cut = (): void => {
      options.onCut(sender);
      connection.cut();
    };
    const memory = buffered.join(sender, () => atTurnEnd(cut));
    const connection = serveConnection<PickerMessage>({
      socket,
      service,
      atTurnEnd,
      clock,
      memory,
      maxMessageBytes,
      bounds: bounds.streams,
      answer: (call) => {
        const exchange = new PickedExchange(call, { picker, sender, budget, write: protocol.writeResponse });
        return { message: (message) => exchange.message(message), over: () => exchange.over() };
      },
      addServices: (server) => health.addToServer(server),
    });
    const peer = peerOf(socket);
    connections.set(peer, connection);
    socket.on('close', () => {
      if (connections.get(peer) === connection) connections.delete(peer);
    });
  };

  const client = options.clientCa === undefined ? {} : { ca: options.clientCa, requestCert: true };
  const server =
    tls === undefined
      ? createTcpServer()
      : createTlsServer({ ...tls, ...client, ALPNProtocols: ['h2'], handshakeTimeout: bounds.streams.maxHeadMs });
  injectBounded(server, {
    bounds: bounds.streams,
    security: tls === undefined ? 'none' : 'tls',
    inject: serve,
    isBusy: (socket: Socket) => (connections.get(peerOf(socket))?.open() ?? 0) > 0,
  });
  const probes = new Server({
    'grpc.enable_channelz': 0,
    'grpc.max_receive_message_length': maxProbeBytes,
    ...grpcOptions(bounds.health),
    interceptors: [(_method, call) => new ServerInterceptingCall(call, boundedStatus)],
  });
  health.addToServer(probes);
  const injector = probes.createConnectionInjector(ServerCredentials.createInsecure());
  const probed = createTcpServer();
  const probing = injectBounded(probed, {
    bounds: bounds.health,
    security: 'none',
    inject: (socket: Socket) => injector.injectConnection(socket),
  });
  const setReady = (isReady: boolean): void => {
    for (const name of readyServices) health.setStatus(name, isReady ? 'SERVING' : 'NOT_SERVING');
  };
  setReady(false);
  const port = await listen(server, { host, port: options.port });
  const healthPort = await listen(probed, { host, port: options.healthPort }).catch((error: unknown) => {
    server.close();
    throw error;
  });
  return {
    port,
    healthPort,
    /** Reports whether requests can be answered, to the probes and to gateways that ask. */
    setReady,
    /** Requests whose answer has not ended. */
    open: (): number => [...connections.values()].reduce((sum, connection) => sum + connection.open(), 0),
    /** Accepts no new requests, waits up to `graceMs` for the open ones, then cuts the others. */
    close: async (graceMs: number): Promise<void> => {
      setReady(false);
      await new Promise<void>((resolve) => {
        const cancel = clock.after(graceMs, () => {
          for (const connection of connections.values()) connection.cut();
        });
        server.close(() => {
          cancel();
          resolve();
        });
        for (const connection of connections.values()) connection.drain();
      });
      probes.forceShutdown();
      probed.close();
      probing.cut();
    },
  };
}

interface Place {
  readonly host: string;
  readonly port: number;
}

function listen(server: TcpServer, place: Place): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(place, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : place.port);
    });
  });
}
