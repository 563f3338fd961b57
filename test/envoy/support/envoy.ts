import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEnvoy } from '../../../src/programs/local/find-envoy.ts';
import { type BootstrapOptions, envoyArguments, renderBootstrap } from '../../../src/control/envoy/config/bootstrap.ts';
import { connectionsModule } from '../../../src/control/envoy/config/connection-limits.ts';
import { renderClusters } from '../../../src/control/envoy/config/clusters.ts';
import { renderEdgeCertificate } from '../../../src/control/envoy/config/edge-listener.ts';
import { type RunFolder, runFolder } from '../../../src/control/envoy/config/run-folder.ts';
import { stuckAfterMs } from '../../support/stuck-after.ts';

export interface TestEnvoy {
  readonly pid: number;
  /** Port of the edge listener on 127.0.0.1. */
  readonly port: number;
  readonly folder: string;
  readonly files: RunFolder;
  /** Everything Envoy has printed. */
  readonly log: () => string;
  /** Body of an admin page. */
  readonly admin: (path: string) => Promise<string>;
  /** Ends Envoy at once and starts another on the same folder and port. */
  readonly restart: () => Promise<void>;
  /** Ends Envoy and removes its folder. */
  readonly stop: () => Promise<void>;
}

/** Starts a real Envoy with our bootstrap on a free port, in a folder of its own, with no backends. Throws with its log when it does not come up. */
export async function startEnvoy(
  options: Partial<BootstrapOptions> & {
    readonly concurrency?: number;
    /** Starts with the clusters file that is there. */
    readonly keepClusters?: boolean;
    /** The bootstrap as Envoy gets it, from the one of ours: for twins without a protection. */
    readonly change?: (bootstrap: string) => string;
    /** Sockets of several services, in place of the one in the run folder: each request goes to one of them by turns. */
    readonly sockets?: readonly string[];
    /** Where these services tell their endpoints, in place of the one socket. */
    readonly discoveries?: readonly string[];
    /** In place of the time that a whole request may take to arrive. */
    readonly requestTimeout?: string;
  } = {},
): Promise<TestEnvoy> {
  const binary = await findEnvoy({ env: process.env, report: () => {} });
  const folder = options.runFolder ?? (await mkdtemp(join(tmpdir(), 'weir-')));
  const files = runFolder(folder);
  await mkdir(files.clustersFolder, { recursive: true });
  if (options.keepClusters !== true) await writeFile(files.clustersFile, JSON.stringify(renderClusters([], 'none')));
  if (options.connections !== undefined) await copyFile(connectionsModule, files.connectionsModule);
  if (options.edge?.tls !== undefined)
    await writeFile(files.edgeCertificateFile, JSON.stringify(renderEdgeCertificate(options.edge.tls)));
  const bootstrap = (port: number): string => {
    const rendered = JSON.stringify(
      renderBootstrap({
        edge: { address: '127.0.0.1', port },
        trustedHops: 0,
        maxConnections: 10_000,
        heapBytes: 1024 ** 3,
        ...options,
        runFolder: folder,
      }),
    );
    const endpoint = (path: string): string => JSON.stringify({ endpoint: { address: { pipe: { path } } } });
    const { sockets = [files.extprocSocket], discoveries = [files.discoverySocket], requestTimeout = '600s' } = options;
    return (options.change?.(rendered) ?? rendered)
      .replace(endpoint(files.extprocSocket), sockets.map(endpoint).join(','))
      .replace(endpoint(files.discoverySocket), discoveries.map(endpoint).join(','))
      .replace('"request_timeout":"600s"', `"request_timeout":"${requestTimeout}"`);
  };
  const args = envoyArguments({ bootstrapFile: files.bootstrapFile, concurrency: options.concurrency ?? 2 });
  const admin = (path: string): Promise<string> => get(files.adminSocket, path);
  let log = '';
  const launch = async (port: number): Promise<ChildProcess> => {
    await writeFile(files.bootstrapFile, bootstrap(port));
    const child = spawn(binary, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.on('data', (bytes: Buffer) => (log += bytes.toString()));
    try {
      await ready(child, admin);
      return child;
    } catch (error) {
      await end(child);
      throw new Error(`Envoy did not start: ${log}`, { cause: error });
    }
  };
  let child = await launch(options.edge?.port ?? 0);
  const port = Number(/"port_value":\s*(\d+)/.exec(await admin('/listeners?format=json'))?.[1]);
  return {
    get pid() {
      return child.pid ?? 0;
    },
    port,
    folder,
    files,
    log: () => log,
    admin,
    restart: async () => {
      await end(child);
      child = await launch(port);
    },
    stop: async () => {
      await end(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function ready(child: ChildProcess, admin: (path: string) => Promise<string>): Promise<void> {
  const deadline = performance.now() + stuckAfterMs;
  while (child.exitCode === null && performance.now() < deadline) {
    const state = await admin('/ready').catch(() => 'away');
    if (state.startsWith('LIVE')) return;
    // Envoy tells nobody when it is ready; it has to be asked.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(child.exitCode === null ? 'not ready in time' : `it ended with ${child.exitCode}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

function get(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('end', () => resolve(body)).on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}
