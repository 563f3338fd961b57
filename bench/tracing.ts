import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A collector of traces that throws away what it gets. */
export interface Collector {
  /** The environment of a Weir that records one trace in so many. */
  readonly environment: (oneIn: number) => Readonly<Record<string, string>>;
  /** Batches of spans that came. */
  readonly batches: () => number;
  readonly stop: () => Promise<void>;
}

/** This checkout once more, with tracing on: how many traces of how many are recorded. */
export const tracedTargets = [
  { name: 'sampled', oneIn: 100 },
  { name: 'traced', oneIn: 1 },
] as const;

/** Starts a collector on a free port of this machine. It reads each export and answers, which takes it next to no time. */
export async function startCollector(): Promise<Collector> {
  let batches = 0;
  const server = createServer((request, response) => {
    batches += 1;
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    environment: (oneIn) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: String(1 / oneIn),
    }),
    batches: () => batches,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
