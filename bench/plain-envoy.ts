import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';

interface EnvoyProcessOptions {
  readonly binary: string;
  readonly folder: string;
  /** Worker threads; Envoy's default, one per core, when absent. */
  readonly concurrency?: number;
}

export interface PlainEnvoyOptions extends EnvoyProcessOptions {
  /** Ports of the upstream on this machine. It asks several in turn. */
  readonly upstreamPorts: readonly number[];
  /** Speaks TLS with this certificate and names its callers in `x-forwarded-for`, as a proxy at the edge does. Both are PEM. */
  readonly tls?: { readonly certificate: string; readonly key: string };
}

export interface PlainEnvoy {
  readonly port: number;
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

const startTimeoutMs = 10_000;

/**
 * The same Envoy with nothing on: one listener, one cluster, no filter but the router. It is what Weir is compared with.
 * Throws when it is not ready in ten seconds; the message carries what Envoy printed.
 */
export function startPlainEnvoy(options: PlainEnvoyOptions): Promise<PlainEnvoy> {
  return startEnvoyProcess(options, (adminSocket) => plainBootstrap(adminSocket, options));
}

/** Starts an Envoy with a bootstrap that has one listener. Throws like `startPlainEnvoy`. */
export async function startEnvoyProcess(
  { binary, folder, concurrency }: EnvoyProcessOptions,
  bootstrap: (adminSocket: string) => object,
): Promise<PlainEnvoy> {
  await mkdir(folder, { recursive: true });
  const adminSocket = join(folder, 'admin.sock');
  const config = join(folder, 'envoy.json');
  await writeFile(config, JSON.stringify(bootstrap(adminSocket)));
  const flags = ['-c', config, '--log-level', 'error', '--disable-hot-restart'];
  const child = spawn(binary, concurrency === undefined ? flags : [...flags, '--concurrency', String(concurrency)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let printed = '';
  child.stderr.on('data', (bytes: Buffer) => {
    printed = (printed + bytes.toString()).slice(-4_000);
  });
  const gone = once(child, 'exit').then(() => 'gone' as const);
  try {
    return { port: await readyPort(adminSocket, gone), pid: child.pid ?? 0, stop: () => stop(child) };
  } catch (error) {
    await stop(child);
    throw new Error(`plain Envoy did not start: ${printed}`, { cause: error });
  }
}

async function readyPort(adminSocket: string, gone: Promise<'gone'>): Promise<number> {
  const deadline = performance.now() + startTimeoutMs;
  for (;;) {
    const state = await Promise.race([gone, get(adminSocket, '/ready').catch(() => 'away')]);
    if (state === 'gone') throw new Error('it ended');
    if (state.startsWith('LIVE')) break;
    if (performance.now() > deadline) throw new Error('not ready in time');
    // Envoy tells nobody when it is ready; it has to be asked.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const port = /"port_value":\s*(\d+)/.exec(await get(adminSocket, '/listeners?format=json'))?.[1];
  if (port === undefined) throw new Error('it has no listener');
  return Number(port);
}

function get(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, path, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (piece: string) => (text += piece));
      answer.on('end', () => resolve(text));
    });
    call.on('error', reject);
    call.end();
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

/** Limits raised as Weir raises them, so that the comparison is not decided by a default circuit breaker. */
function plainBootstrap(
  adminSocket: string,
  { upstreamPorts, tls }: Pick<PlainEnvoyOptions, 'upstreamPorts' | 'tls'>,
): object {
  const many = 1_000_000;
  return {
    admin: { address: { pipe: { path: adminSocket } } },
    static_resources: {
      listeners: [
        {
          name: 'plain',
          address: { socket_address: { address: '127.0.0.1', port_value: 0 } },
          filter_chains: [
            {
              ...(tls === undefined ? {} : { transport_socket: transportSocket(tls) }),
              filters: [
                {
                  name: 'envoy.filters.network.http_connection_manager',
                  typed_config: {
                    '@type':
                      'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
                    stat_prefix: 'plain',
                    stream_idle_timeout: '0s',
                    use_remote_address: tls !== undefined,
                    route_config: {
                      virtual_hosts: [
                        {
                          name: 'all',
                          domains: ['*'],
                          routes: [{ match: { prefix: '/' }, route: { cluster: 'engine', timeout: '0s' } }],
                        },
                      ],
                    },
                    http_filters: [
                      {
                        name: 'envoy.filters.http.router',
                        typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' },
                      },
                    ],
                  },
                },
              ],
            },
          ],
        },
      ],
      clusters: [
        {
          name: 'engine',
          type: 'STATIC',
          connect_timeout: '2s',
          circuit_breakers: {
            thresholds: [{ max_connections: many, max_pending_requests: many, max_requests: many, max_retries: many }],
          },
          load_assignment: {
            cluster_name: 'engine',
            endpoints: [
              {
                lb_endpoints: upstreamPorts.map((port) => ({
                  endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } },
                })),
              },
            ],
          },
        },
      ],
    },
  };
}

function transportSocket({ certificate, key }: NonNullable<PlainEnvoyOptions['tls']>): object {
  const pair = { certificate_chain: { inline_string: certificate }, private_key: { inline_string: key } };
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
      common_tls_context: { tls_certificates: [pair] },
    },
  };
}
