import type { Server, ServerResponse } from 'node:http';
import { listenOrElsewhere } from '../../core/address.ts';
import { type BackendDemand, demandPath } from '../../core/backend-demand.ts';
import type { Clock } from '../../core/clock.ts';
import { boundHttpConnections, httpOptions, portBounds, type PortBounds } from '../../core/port-bounds.ts';
import { shareWork } from '../../core/share-work.ts';
import { contentTypes, type ExpositionFormat, formatFor } from './exposition.ts';
import { createEventStreams } from './event-streams.ts';
import { answerInternal, type Internal } from './internal.ts';

// With `import`, Node loads its `fetch`, too (docs/decisions/0100).
const { createServer } = process.getBuiltinModule('node:http');

export interface OpsServer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

export interface OpsOptions {
  /** Address to listen on. Default: the loopback. */
  readonly host?: string;
  /** Wanted port. With 0, or if the port is in use, the server listens on any free port. */
  readonly port: number;
  readonly metrics: (format: ExpositionFormat) => Promise<string>;
  /** Why requests cannot be served now; undefined when they can. */
  readonly unready: () => string | undefined;
  /** Absent: the program has no Backends. */
  readonly demands?: () => readonly BackendDemand[];
  /** Absent: there is nothing below /internal. */
  readonly internal?: Internal;
  readonly clock: Pick<Clock, 'after' | 'elapsed'>;
  readonly bounds?: PortBounds;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function send(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': type }).end(text);
}

/** Serves /metrics, /livez and /readyz, perhaps /demand, and perhaps /internal with the token of the database. Rejects if it cannot listen on the host. */
export async function startOps(options: OpsOptions): Promise<OpsServer> {
  const { host = '127.0.0.1', bounds = portBounds.ops } = options;
  const internal = options.internal && {
    ...options.internal,
    streams: createEventStreams(options.internal, options.clock),
  };
  // Strangers may read both, as often as they like.
  const renderMetrics = shareWork(options.metrics, options.clock);
  const renderDemands = shareWork(
    async (demands: () => readonly BackendDemand[]) => JSON.stringify({ backends: demands() }),
    options.clock,
  );
  const server = createServer(httpOptions(bounds), (request, response) => {
    switch (request.url ?? '') {
      case '/livez':
        send(response, 200, 'ok\n');
        return;
      case '/readyz': {
        const reason = options.unready();
        if (reason === undefined) send(response, 200, 'ok\n');
        else send(response, 503, `not ready: ${reason}\n`);
        return;
      }
      case '/metrics': {
        const format = formatFor(request.headers.accept);
        renderMetrics(format).then(
          (text) => send(response, 200, text, contentTypes[format]),
          () => send(response, 503, 'metrics failed\n'),
        );
        return;
      }
      case demandPath:
        if (options.demands === undefined) send(response, 404, 'not found\n');
        else
          renderDemands(options.demands).then(
            (text) => send(response, 200, text, 'application/json'),
            () => send(response, 503, 'demand failed\n'),
          );
        return;
      default:
        if (internal === undefined || !answerInternal(request, response, internal)) {
          send(response, 404, 'not found\n');
        }
    }
  });
  boundHttpConnections(server, bounds);
  await listenOrElsewhere(options.port, (port) => listen(server, host, port));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
