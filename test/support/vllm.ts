import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { metricIn } from './metric-in.ts';

export interface VllmOptions {
  /** A fixed port, to come back on the address of one that was killed. Default: a free one below the range of outgoing connections. */
  readonly port?: number;
  /** Default 2048, where the model has 8192. */
  readonly contextLength?: number;
  /** Requests served at once; others wait. Default 8. */
  readonly maxRequests?: number;
  /** Memory for the KV cache, bytes. Default 64 MiB. */
  readonly kvCacheBytes?: number;
  /** Folder of the model. Default: the one that was trained by the installation. */
  readonly model?: string;
  /** Default `hermes`, and `qwen3` for reasoning; `none` leaves the flag out. */
  readonly toolParser?: string;
  readonly reasoningParser?: string;
  /** Further arguments of `vllm serve`, as it spells them. */
  readonly extra?: readonly string[];
}

export interface Vllm {
  /** Base URL without a path, `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly port: number;
  /** Ends it in order; resolves when all of its processes are gone. */
  readonly close: () => Promise<void>;
  /** Ends all of its processes with SIGKILL, as a lost machine would. */
  readonly kill: () => Promise<void>;
  /** Stops all of its processes, and lets them go on. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** The value of a gauge or counter of its `/metrics`, `vllm:num_requests_running` for example; the sum over its labels. */
  readonly metric: (name: string) => Promise<number>;
}

/** What the model does not know by heart it continues without end; these endings of a prompt choose what it knows (tiny_model.py). */
export const endings = { call: '#w', twoCalls: '#b', xml: '#x', python: '#l', few: '#f', muse: '#m' } as const;

const installScript = join(import.meta.dirname, 'real-vllm', 'install.sh');
/** Loading takes 20 s on an idle machine, and minutes on a busy one. */
const startLimitMs = 560_000;
const closeLimitMs = 20_000;
const pollMs = 250;

const environment = {
  HF_HUB_OFFLINE: '1',
  TRANSFORMERS_OFFLINE: '1',
  VLLM_NO_USAGE_STATS: '1',
  DO_NOT_TRACK: '1',
  VLLM_CPU_OMP_THREADS_BIND: 'nobind',
  // The model is a toy, and the processors belong to what is under test.
  OMP_NUM_THREADS: '1',
  OMP_WAIT_POLICY: 'PASSIVE',
};

const lowPort = (): number => 20_000 + Math.floor(Math.random() * 12_000);

const flag = (name: string, value: string): readonly string[] => (value === 'none' ? [] : [name, value]);

/**
 * Starts a real vLLM with the tiny model and resolves when it is healthy. Rejects when it is not installed (`npm run test:vllm` installs
 * it) or ends before that, with its last lines.
 */
export async function startVllm(options: VllmOptions = {}): Promise<Vllm> {
  const { folder, model: trained } = findVllm();
  const { model = trained } = options;
  const { port = lowPort(), contextLength = 2048, maxRequests = 8, kvCacheBytes = 2 ** 26, extra = [] } = options;
  const { toolParser = 'hermes', reasoningParser = 'qwen3' } = options;
  const parameters = ['serve', model, '--served-model-name', 'tiny'];
  parameters.push('--host', '127.0.0.1', '--port', String(port), '--dtype', 'bfloat16', '--enforce-eager');
  parameters.push('--max-model-len', String(contextLength), '--max-num-seqs', String(maxRequests));
  parameters.push('--kv-cache-memory-bytes', String(kvCacheBytes), '--enable-prompt-tokens-details');
  parameters.push(...(toolParser === 'none' ? [] : ['--enable-auto-tool-choice']));
  parameters.push(...flag('--tool-call-parser', toolParser), ...flag('--reasoning-parser', reasoningParser), ...extra);
  const child = spawn(join(folder, 'bin', 'vllm'), parameters, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: the server has processes of its own, which outlive it when it is killed.
    detached: true,
  });
  const gone = once(child, 'exit');
  const send = (signal: NodeJS.Signals): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch {
      // All of them are gone.
    }
  };
  const kill = async (): Promise<void> => {
    send('SIGKILL');
    await gone;
  };
  const close = async (): Promise<void> => {
    child.kill('SIGTERM');
    const limit = setTimeout(() => send('SIGKILL'), closeLimitMs);
    await gone;
    clearTimeout(limit);
    send('SIGKILL');
  };

  const lastLines: string[] = [];
  const read = (line: string): void => {
    lastLines.push(line);
    if (lastLines.length > 40) lastLines.shift();
  };
  // Read to the end of its life: a full pipe would stop the server.
  createInterface({ input: child.stdout }).on('line', read);
  createInterface({ input: child.stderr }).on('line', read);
  const url = `http://127.0.0.1:${port}`;
  try {
    await Promise.race([
      healthy(url),
      once(child, 'exit').then(([code, signal]) => {
        throw new Error(`vLLM ended (${String(signal ?? code)}) before it was healthy`);
      }),
    ]);
  } catch (error) {
    send('SIGKILL');
    throw new Error(`${String(error)}:\n${lastLines.join('\n')}`, { cause: error });
  }
  return {
    ...{ url, port, close, kill },
    pause: () => send('SIGSTOP'),
    resume: () => send('SIGCONT'),
    metric: async (name) => metricIn(await textOf(`${url}/metrics`), name),
  };
}

/** Writes a model that takes images into a folder. */
export const makeVisionModel = (into: string): Promise<void> => makeModel('tiny_vision_model.py', into);

/** Writes a random BERT into a folder: one that makes vectors of 64 values, or one that ranks documents. Both read 512 tokens. */
export const makeEncoder = (into: string, kind: 'vectors' | 'ranks'): Promise<void> =>
  makeModel('tiny_encoder.py', into, kind);

async function makeModel(script: string, ...parameters: readonly string[]): Promise<void> {
  const program = join(import.meta.dirname, 'real-vllm', script);
  await promisify(execFile)(join(findVllm().folder, 'bin', 'python'), [program, ...parameters]);
}

async function healthy(url: string): Promise<void> {
  for (const until = performance.now() + startLimitMs; performance.now() < until;) {
    const answer = await fetch(`${url}/health`, { headers: { connection: 'close' } }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    await sleep(pollMs);
  }
  throw new Error(`vLLM was not healthy in ${startLimitMs} ms`);
}

async function textOf(url: string): Promise<string> {
  const answer = await fetch(url, { headers: { connection: 'close' } });
  return answer.text();
}

/** Throws when it was not installed (`npm run test:vllm` installs it). */
export function findVllm(): { readonly folder: string; readonly model: string } {
  const answer = spawnSync(installScript, ['--where'], { encoding: 'utf8' });
  const [folder, model] = answer.status === 0 ? answer.stdout.split('\n') : [];
  if (folder !== undefined && model !== undefined) return { folder, model };
  throw new Error(answer.error?.message ?? answer.stderr.trim());
}
