import type { Server, ServerResponse } from 'node:http';
import { listenOrElsewhere } from '../../core/address.ts';
import { type BackendScale, type NoScale, scalePath } from '../../gateway/core/backend-scale.ts';
import type { Clock } from '../../core/clock.ts';
import { quoted } from '../../core/one-line.ts';
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
  readonly scale?: (backend: string) => BackendScale | NoScale;
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

/** Answers an autoscaler that reads how many endpoints a Backend needs. Returns false for other paths. */
function answerScale(url: string, response: ServerResponse, scale: NonNullable<OpsOptions['scale']>): boolean {
  if (!url.startsWith(scalePath)) return false;
  const backend = url.slice(scalePath.length).replace(/\?.*$/s, '');
  const found = scale(backend);
  // The next poll connects anew, to any of the replicas, and autoscalers with many triggers hold no connections.
  response.setHeader('connection', 'close');
  const [status, body] = typeof found === 'object' ? [200, found] : noScale[found](quoted(backend));
  send(response, status, `${JSON.stringify(body)}\n`, 'application/json');
  return true;
}

const noScale: Readonly<Record<NoScale, (backend: string) => readonly [number, { readonly error: string }]>> = {
  'no-backend': (backend) => [
    404,
    { error: `no Model has a route to a Backend ${backend} with endpoints of its own; check its name` },
  ],
  'no-catalog': () => [503, { error: 'the catalog is not loaded yet; try again' }],
  incomplete: (backend) => [
    503,
    { error: `the requests to ${backend} are not known: not all replicas report theirs; check Valkey` },
  ],
};

/** Serves /metrics, /livez and /readyz, perhaps /scale/BACKEND, and perhaps /internal with the token of the database. Rejects if it cannot listen on the host. */
export async function startOps(options: OpsOptions): Promise<OpsServer> {
  const { host = '127.0.0.1', bounds = portBounds.ops } = options;
  const internal = options.internal && {
    ...options.internal,
    streams: createEventStreams(options.internal, options.clock),
  };
  // Strangers may read them as often as they like.
  const renderMetrics = shareWork(options.metrics, options.clock);
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
      default:
        if (options.scale !== undefined && answerScale(request.url ?? '', response, options.scale)) return;
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
