import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

export interface WeirOptions {
  /** The checkout that is started. */
  readonly root: string;
  readonly envoy: string;
  readonly manifests: string;
  readonly data: string;
  /** Added to the environment of the service and everything it starts. */
  readonly env?: Readonly<Record<string, string>>;
  /** An issuer whose tokens it takes, all of them. */
  readonly issuer?: string | undefined;
  /** Services behind its Envoy, and the servers that they share. Default: one, on SQLite and memory. */
  readonly replicas?: {
    readonly count: number;
    readonly stores: { readonly WEIR_DATABASE_URL: string; readonly WEIR_VALKEY_URL: string };
  };
}

export interface WeirProcess {
  readonly baseUrl: URL;
  readonly pid: number;
  readonly key: string;
  /** The address that signs in to the portal. */
  readonly portal: URL | undefined;
  /** The metrics of the first service. */
  readonly metrics: URL | undefined;
  /** From the command to its `ready` line. */
  readonly startMs: number;
  readonly stop: () => Promise<void>;
}

const startTimeoutMs = 60_000;
const stopTimeoutMs = 30_000;
const run = promisify(execFile);

/**
 * Starts Weir as `npm start` does, with a workspace and a key whose limits are out of a load's way; all else is the
 * default, everything on. Throws with the last lines it printed when there is no `ready` line in a minute.
 */
export async function startWeir(options: WeirOptions): Promise<WeirProcess> {
  const { root, envoy, manifests, data, env = {}, replicas, issuer } = options;
  const command = join(root, 'bin', 'weir.mjs');
  const beganAt = performance.now();
  const environment = { ...process.env, ENVOY_PATH: envoy, ...replicas?.stores };
  const child = spawn(
    process.execPath,
    [
      ...[command, 'start', '--manifests', manifests, '--port', '0', '--data', data, '--no-demo'],
      ...(replicas === undefined ? [] : ['--replicas', String(replicas.count)]),
    ],
    { env: { ...environment, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const printed: string[] = [];
  const ready = new Promise<URL>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        printed.push(line);
        if (printed.length > 40) printed.shift();
        const url = /^ready (\S+)/.exec(line)?.[1];
        if (url !== undefined) resolve(new URL(url));
      });
    }
    child.once('exit', () => reject(new Error('it ended')));
    child.once('error', reject);
    setTimeout(() => reject(new Error('no ready line in time')), startTimeoutMs).unref();
  });
  try {
    const baseUrl = await ready;
    const startMs = performance.now() - beganAt;
    const accounts = { data: replicas === undefined ? data : undefined, env: environment };
    return {
      baseUrl,
      pid: child.pid ?? 0,
      key: await createKey(command, accounts, issuer),
      portal: addressIn(printed, 'portal'),
      metrics: addressIn(printed, 'ops'),
      startMs,
      stop: () => stop(child),
    };
  } catch (error) {
    await stop(child);
    throw new Error(`Weir did not start:\n${printed.join('\n')}`, { cause: error });
  }
}

function addressIn(printed: readonly string[], name: 'portal' | 'ops'): URL | undefined {
  const address = new RegExp(`^${name}:\\s+(\\S+)$`, 'm').exec(printed.join('\n'))?.[1];
  return address === undefined ? undefined : new URL(address);
}

interface Accounts {
  /** Undefined: the environment names the database. */
  readonly data: string | undefined;
  readonly env: NodeJS.ProcessEnv;
}

/** A key as an operator makes one, beside the running service; and an identity of an issuer, with the same limits. */
async function createKey(command: string, accounts: Accounts, issuer: string | undefined): Promise<string> {
  const workspace = 'bench';
  const roomy = ['--rate', '1000000', '--burst', '1000000'];
  await weir(command, ['workspace', 'create', workspace, '--credit', '1000000', '--max-in-flight', '100000'], accounts);
  if (issuer !== undefined) {
    const rules = ['--issuer', issuer, '--audience', 'weir', '--match', 'claims.sub != ""', '--workspace', workspace];
    await weir(command, ['identity', 'create', workspace, ...rules, ...roomy], accounts);
  }
  const made = await weir(command, ['key', 'create', '--workspace', workspace, ...roomy], accounts);
  if (typeof made !== 'object' || made === null || !('key' in made) || typeof made.key !== 'string') {
    throw new Error('`weir key create --json` printed no key');
  }
  return made.key;
}

async function weir(command: string, args: readonly string[], { data, env }: Accounts): Promise<unknown> {
  const { stdout } = await run(
    process.execPath,
    [command, ...args, '--json', ...(data === undefined ? [] : ['--data', data])],
    { env },
  );
  return JSON.parse(stdout);
}

/** As Ctrl-C does; a process that does not drain in time is killed, with what it started. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  child.kill('SIGINT');
  const killer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  await exited;
  clearTimeout(killer);
}
