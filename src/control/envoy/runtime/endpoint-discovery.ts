import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';
import { z } from 'zod';
import type { Endpoint } from '../../../core/endpoint.ts';
import { renderEndpoints } from '../config/endpoints.ts';

/** The state of the exchange with Envoy, for gauges. */
interface DiscoveryStatus {
  /** Envoys that are connected. */
  readonly streams: number;
  /** Age of the oldest message that Envoy has not answered; 0: it has answered all. */
  readonly unansweredMs: number;
  readonly refusals: number;
}

/** Publishes to Envoy which endpoints its clusters have. */
export type EndpointDiscovery = Awaited<ReturnType<typeof serveEndpoints>>;

interface EndpointDiscoveryOptions {
  readonly socketPath: string;
  /** Envoy refused endpoints, and keeps those that it had. */
  readonly onRefused: (reason: string) => void;
}

const protoFile = fileURLToPath(new URL('../../../../protos/endpoint_discovery.proto', import.meta.url));
const serviceName = 'envoy.service.discovery.v3.AggregatedDiscoveryService';
const typeUrl = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';

/** The parts of Envoy's messages that are read. */
const request = z.object({
  type_url: z.string().default(''),
  resource_names_subscribe: z.array(z.string()).default([]),
  resource_names_unsubscribe: z.array(z.string()).default([]),
  response_nonce: z.string().default(''),
  error_detail: z.object({ message: z.string().default('') }).nullish(),
});

interface Resource {
  readonly version: string;
  readonly name: string;
  readonly resource: object;
}

/**
 * Serves Envoy's endpoint discovery on a Unix socket, as incremental xDS: only what has changed is sent. A cluster
 * whose endpoints are not known yet gets no answer, because to Envoy an empty answer would mean that the cluster has
 * none.
 * https://www.envoyproxy.io/docs/envoy/v1.40.0/api-docs/xds_protocol#incremental-xds
 */
export async function serveEndpoints(options: EndpointDiscoveryOptions) {
  const { socketPath } = options;
  const known = new Map<string, Resource>();
  const subscribers = new Set<Subscriber>();
  let version = 0;
  let refusals = 0;
  const onRefused = (reason: string): void => {
    refusals += 1;
    options.onRefused(reason);
  };

  const { [serviceName]: service } = await load(protoFile, { keepCase: true });
  if (service === undefined || 'format' in service) throw new Error(`${protoFile} does not define ${serviceName}`);
  const server = new Server({ 'grpc.enable_channelz': 0 });
  server.addService(service, {
    DeltaAggregatedResources: (stream: ServerDuplexStream<unknown, object>) => {
      const subscriber = createSubscriber({ known, onRefused, send: (response) => stream.write(response) });
      subscribers.add(subscriber);
      stream.on('data', (message: unknown) => subscriber.take(request.parse(message)));
      // A stream that is cut ends with an error, which is no fault of this service.
      stream.on('error', () => undefined);
      stream.on('end', () => stream.end());
      stream.on('close', () => {
        subscribers.delete(subscriber);
        subscriber.leave();
      });
    },
  });
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const sockets = new Set<Socket>();
  // The server listens here, because a forced shutdown of grpc-js leaves connections with a stream open.
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    injector.injectConnection(socket);
  });
  // A socket file left by a killed process stops the bind with EADDRINUSE.
  await rm(socketPath, { force: true });
  listener.listen(socketPath);
  await once(listener, 'listening');
  return {
    /**
     * Sets the endpoints of a cluster. Resolves when Envoy has accepted them. Resolves at once if no Envoy has the
     * cluster: Envoy gets the endpoints when it asks. Never rejects.
     */
    set: async (cluster: string, endpoints: readonly Endpoint[]): Promise<void> => {
      version += 1;
      const resource = { type_url: typeUrl, value: renderEndpoints(cluster, endpoints) };
      known.set(cluster, { version: String(version), name: cluster, resource });
      await Promise.all([...subscribers].map((subscriber) => subscriber.changed(cluster)));
    },
    status: (): DiscoveryStatus => ({
      streams: subscribers.size,
      unansweredMs: Math.max(0, ...[...subscribers].map((subscriber) => subscriber.unansweredMs())),
      refusals,
    }),
    /** Forgets a cluster. An Envoy that still has the cluster keeps its endpoints. */
    drop: (cluster: string): void => {
      known.delete(cluster);
    },
    /** Envoy keeps the endpoints that it has, and asks again when another service listens. */
    close: async (): Promise<void> => {
      const closed = once(listener, 'close');
      listener.close();
      for (const socket of sockets) socket.destroy();
      server.forceShutdown();
      await closed;
    },
  };
}

/** One connected Envoy. */
type Subscriber = ReturnType<typeof createSubscriber>;

/**
 * One response at a time is on its way: clusters that change meanwhile are sent together with the next one. So an Envoy that
 * does not answer costs no more memory than there are clusters.
 */
function createSubscriber(options: {
  readonly known: ReadonlyMap<string, Resource>;
  readonly send: (response: object) => void;
  readonly onRefused: (reason: string) => void;
}) {
  const { known, send, onRefused } = options;
  const subscribed = new Set<string>();
  let unsent = new Set<string>();
  let sending = Promise.withResolvers<void>();
  let unanswered: { readonly nonce: string; readonly sentAt: number; readonly answered: () => void } | undefined;
  let hasLeft = false;
  let nonce = 0;

  function flush(): void {
    if (unanswered !== undefined || hasLeft) return;
    const resources = [...unsent].flatMap((cluster) => known.get(cluster) ?? []);
    unsent = new Set();
    // All changed clusters may have been dropped in the meantime.
    if (resources.length === 0) return sending.resolve();
    nonce += 1;
    unanswered = { nonce: String(nonce), sentAt: performance.now(), answered: sending.resolve };
    sending = Promise.withResolvers();
    send({ type_url: typeUrl, nonce: String(nonce), resources });
  }

  return {
    take: (message: z.output<typeof request>): void => {
      // Envoy requests only this type on the stream.
      if (message.type_url !== typeUrl) return;
      if (unanswered !== undefined && message.response_nonce === unanswered.nonce) {
        unanswered.answered();
        unanswered = undefined;
        const refusal = message.error_detail;
        if (refusal !== undefined && refusal !== null) onRefused(refusal.message);
      }
      for (const cluster of message.resource_names_unsubscribe) subscribed.delete(cluster);
      for (const cluster of message.resource_names_subscribe) {
        subscribed.add(cluster);
        unsent.add(cluster);
      }
      flush();
    },
    /** Resolves when Envoy has answered the change, has no such cluster, or has disconnected. */
    changed: (cluster: string): Promise<void> => {
      if (!subscribed.has(cluster) || hasLeft) return Promise.resolve();
      unsent.add(cluster);
      const sent = sending.promise;
      flush();
      return sent;
    },
    unansweredMs: (): number => (unanswered === undefined ? 0 : performance.now() - unanswered.sentAt),
    /** The stream has ended. */
    leave: (): void => {
      hasLeft = true;
      unanswered?.answered();
      sending.resolve();
    },
  };
}
