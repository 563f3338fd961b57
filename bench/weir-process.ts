import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface WeirOptions {
  readonly envoy: string;
  readonly manifests: string;
  readonly data: string;
  /** Added to the environment of the service and everything it starts. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface WeirProcess {
  readonly baseUrl: URL;
  readonly pid: number;
  readonly key: string;
  /** From the command to its `ready` line. */
  readonly startMs: number;
  readonly stop: () => Promise<void>;
}

const startTimeoutMs = 60_000;
const stopTimeoutMs = 30_000;
const command = fileURLToPath(new URL('../bin/weir.mjs', import.meta.url));
const run = promisify(execFile);

/**
 * Starts Weir as `npm start` does, with a workspace and a key whose limits are out of a load's way; all else is the
 * default, everything on. Throws with the last lines it printed when there is no `ready` line in a minute.
 */
export async function startWeir({ envoy, manifests, data, env = {} }: WeirOptions): Promise<WeirProcess> {
  const beganAt = performance.now();
  const environment = { ...process.env, ENVOY_PATH: envoy };
  const child = spawn(
    process.execPath,
    [command, 'start', '--manifests', manifests, '--port', '0', '--data', data, '--no-demo'],
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
    return { baseUrl, pid: child.pid ?? 0, key: await createKey(data, environment), startMs, stop: () => stop(child) };
  } catch (error) {
    await stop(child);
    throw new Error(`Weir did not start:\n${printed.join('\n')}`, { cause: error });
  }
}

/** A key as an operator makes one, beside the running service. */
async function createKey(data: string, env: NodeJS.ProcessEnv): Promise<string> {
  const workspace = 'bench';
  await weir(['workspace', 'create', workspace, '--credit', '1000000', '--max-in-flight', '100000'], data, env);
  const made = await weir(
    ['key', 'create', '--workspace', workspace, '--rate', '1000000', '--burst', '1000000'],
    data,
    env,
  );
  if (typeof made !== 'object' || made === null || !('key' in made) || typeof made.key !== 'string') {
    throw new Error('`weir key create --json` printed no key');
  }
  return made.key;
}

async function weir(args: readonly string[], data: string, env: NodeJS.ProcessEnv): Promise<unknown> {
  const { stdout } = await run(process.execPath, [command, ...args, '--json', '--data', data], { env });
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
