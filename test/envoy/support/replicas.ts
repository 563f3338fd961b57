import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runFolder } from '../../../src/control/envoy/config/run-folder.ts';
import { startEnvoy } from './envoy.ts';
import { metricIn } from '../../support/metric-in.ts';
import { gatewayEnvironment } from '../../support/program-environment.ts';

const main = join(import.meta.dirname, '..', '..', '..', 'src', 'main.ts');

/** One of several service processes behind one Envoy. */
export interface ServiceReplica {
  readonly metric: (name: string, labels?: Readonly<Record<string, string>>) => Promise<number>;
  readonly log: () => string;
  /** With SIGKILL. */
  readonly kill: () => Promise<void>;
  /** Starts it again, on what its last life left. Resolves when it is ready. */
  readonly start: () => Promise<void>;
}

/** Service processes, each with a socket and a journal of its own, and one Envoy that hands each request to one of them by turns. */
export interface Replicas {
  readonly origin: string;
  readonly all: readonly ServiceReplica[];
  readonly close: () => Promise<void>;
}

interface ReplicaFolders {
  readonly run: string;
  readonly data: string;
  readonly manifests: string;
}

/**
 * Starts them one after the other: each gives Envoy the catalog, the same one, and hears back that it is there.
 * `env` tells them where the accounts and the limits are that they share.
 */
export async function startReplicas(
  count: number,
  options: { readonly manifests: string; readonly env: Readonly<Record<string, string>> },
): Promise<Replicas> {
  const root = mkdtempSync(join(tmpdir(), 'weir-r-'));
  const manifests = join(root, 'manifests');
  mkdirSync(manifests);
  writeFileSync(join(manifests, 'catalog.yaml'), options.manifests);
  const shared = join(root, 'run');
  const folders = Array.from({ length: count }, (_, index): ReplicaFolders => {
    const [run, data] = [join(root, `r${index}`), join(root, `data-${index}`)];
    mkdirSync(run);
    return { run, data, manifests };
  });
  const envoy = await startEnvoy({
    ...{ runFolder: shared, trustedHops: 1 },
    sockets: folders.map(({ run }) => runFolder(run).extprocSocket),
    discoveries: folders.map(({ run }) => runFolder(run).discoverySocket),
  });
  for (const { run } of folders) {
    const [own, common] = [runFolder(run), runFolder(shared)];
    symlinkSync(common.egressSocket, own.egressSocket);
    symlinkSync(common.adminSocket, own.adminSocket);
    symlinkSync(common.clustersFolder, own.clustersFolder);
  }
  const all: ServiceReplica[] = [];
  for (const own of folders) {
    const replica = createReplica(own, options.env);
    await replica.start();
    all.push(replica);
  }
  return {
    origin: `http://127.0.0.1:${envoy.port}`,
    all,
    close: async () => {
      await Promise.all(all.map((replica) => replica.kill()));
      await envoy.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function createReplica(
  { run, data, manifests }: ReplicaFolders,
  more: Readonly<Record<string, string>>,
): ServiceReplica {
  const folders = { WEIR_DATA: data, WEIR_RUN: run, WEIR_MANIFESTS: manifests };
  const env = gatewayEnvironment({ ...folders, WEIR_OPS_PORT: '0', WEIR_ADMIN_PORT: '0', ...more });
  let child: ChildProcess | undefined;
  let opsPort = 0;
  let log = '';
  return {
    log: () => log,
    metric: async (name, labels) =>
      metricIn(await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text(), name, labels),
    start: async () => {
      const started = spawn(process.execPath, [main, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
      child = started;
      for (const output of [started.stdout, started.stderr]) {
        output?.on('data', (bytes: Buffer) => (log += bytes.toString()));
      }
      await new Promise<void>((resolve, reject) => {
        started.once('exit', (code) => reject(new Error(`the service ended with ${String(code)}: ${log}`)));
        started.on('message', ({ type, port }: { readonly type: string; readonly port?: number }) => {
          if (type === 'ops') opsPort = port ?? 0;
          else if (type === 'ready') resolve();
        });
      });
    },
    kill: async () => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
