import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findEnvoy } from '../../../src/programs/local/find-envoy.ts';
import { extension, typed } from '../../../src/control/envoy/config/typed.ts';
import { freePort } from '../../support/free-port.ts';

/** The fields of an EnvoyExtensionPolicy that Envoy Gateway turns into the filter. */
export interface ExtProcPolicy {
  readonly messageTimeout: string;
  readonly failOpen: boolean;
  readonly statusOnError: number;
  readonly processingMode: { readonly request: { readonly body: 'FullDuplexStreamed' } };
}

export interface GatewayEnvoy {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

const noHeaders = { response_header_mode: 'SKIP', response_body_mode: 'NONE', response_trailer_mode: 'SKIP' };

/**
 * An Envoy as Envoy Gateway 1.9 configures it for a route with that policy (internal/xds/translator/extproc.go): with its
 * 10 s on the gRPC service, and without the runtime flag that our own Envoy has.
 */
export async function startGatewayEnvoy(
  policy: ExtProcPolicy,
  { extProcPort, edgePort }: { readonly extProcPort: number; readonly edgePort: number },
): Promise<GatewayEnvoy> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-gateway-'));
  const port = await freePort();
  const cluster = (name: string, at: number): object => ({
    ...{ name, type: 'STATIC', connect_timeout: '5s' },
    load_assignment: {
      cluster_name: name,
      endpoints: [
        { lb_endpoints: [{ endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: at } } } }] },
      ],
    },
  });
  const http2 = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
  const connectionManager = extension(
    'envoy.filters.network.http_connection_manager',
    'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    {
      ...{ stat_prefix: 'http', use_remote_address: true },
      route_config: {
        virtual_hosts: [
          {
            ...{ name: 'all', domains: ['*'] },
            routes: [{ match: { prefix: '/' }, route: { cluster: 'edge', timeout: '0s' } }],
          },
        ],
      },
      http_filters: [
        extension('ext_proc', 'envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor', {
          grpc_service: { envoy_grpc: { cluster_name: 'ext-proc' }, timeout: '10s' },
          processing_mode: {
            ...{ request_header_mode: 'SEND', request_body_mode: 'FULL_DUPLEX_STREAMED', request_trailer_mode: 'SEND' },
            ...noHeaders,
          },
          message_timeout: policy.messageTimeout.replace(/^(\d+)h$/, (_, hours) => `${Number(hours) * 3600}s`),
          failure_mode_allow: policy.failOpen,
          status_on_error: { code: policy.statusOnError },
        }),
        extension('envoy.filters.http.router', 'envoy.extensions.filters.http.router.v3.Router'),
      ],
    },
  );
  const bootstrap = {
    static_resources: {
      listeners: [
        {
          address: { socket_address: { address: '127.0.0.1', port_value: port } },
          filter_chains: [{ filters: [connectionManager] }],
        },
      ],
      clusters: [
        cluster('edge', edgePort),
        {
          ...cluster('ext-proc', extProcPort),
          typed_extension_protocol_options: {
            [http2]: typed(http2, { explicit_http_config: { http2_protocol_options: {} } }),
          },
        },
      ],
    },
  };
  writeFileSync(join(folder, 'bootstrap.json'), JSON.stringify(bootstrap));
  const args = ['--config-path', join(folder, 'bootstrap.json'), '--disable-hot-restart', '--log-level', 'error'];
  const child = spawn(await findEnvoy({ env: process.env, report: () => {} }), [...args, '--concurrency', '1'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (bytes: Buffer) => (log += bytes.toString()));
  const gone = once(child, 'exit');
  const isUp = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/healthz`, { headers: { connection: 'close' } }).then(
      async (answer) => (await answer.arrayBuffer()) !== undefined,
      () => false,
    );
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`the gateway's Envoy did not start:\n${log}`);
    await sleep(50); // It tells nobody when it is up.
  }
  return {
    port,
    stop: async () => {
      child.kill('SIGTERM');
      await gone;
      rmSync(folder, { recursive: true });
    },
  };
}
