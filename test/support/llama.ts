import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stuckAfterMs } from './stuck-after.ts';

export interface LlamaOptions {
  /** A fixed port, to come back on the address of one that was killed. Default: a free one. */
  readonly port?: number;
  /** Tokens of context over all slots. Default 4096, what the model declares. */
  readonly contextLength?: number;
  /** The model's file. Default: the tiny one that was built with the server. */
  readonly model?: string;
  /** Requests served at once. Default 4. */
  readonly parallel?: number;
  /** Further arguments of llama-server, as it spells them. */
  readonly extra?: readonly string[];
}

export interface Llama {
  /** Base URL without a path, `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly port: number;
  /** Ends it in order; resolves when the process is gone. */
  readonly close: () => Promise<void>;
  /** Ends it with SIGKILL, as a lost machine would; resolves when the process is gone. */
  readonly kill: () => Promise<void>;
}

const buildScript = join(import.meta.dirname, 'real-engine', 'build.sh');
const closeLimitMs = 5_000;

/**
 * Starts a real llama-server with the tiny random model and resolves when it answers.
 * Rejects when it was not built (`npm run test:engine` builds it) or ends before it listens, with its last lines.
 */
export async function startLlama(options: LlamaOptions = {}): Promise<Llama> {
  const folder = findLlama();
  const { port = 0, contextLength = 4096, parallel = 4, extra = [] } = options;
  const { model = tinyModel() } = options;
  const parameters = ['-m', model, '--host', '127.0.0.1', '--port', String(port), '--jinja'];
  // One thread: the model is a toy, and the processors belong to what is under test.
  parameters.push('-c', String(contextLength), '-np', String(parallel), '-t', '1', ...extra);
  const child = spawn(join(folder, 'llama-server'), parameters, { stdio: ['ignore', 'pipe', 'pipe'] });
  const gone = once(child, 'exit');
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    child.kill(signal);
    const limit = setTimeout(() => child.kill('SIGKILL'), closeLimitMs);
    await gone;
    clearTimeout(limit);
  };

  const lastLines: string[] = [];
  const { promise: listening, resolve, reject } = Promise.withResolvers<string>();
  const read = (line: string): void => {
    lastLines.push(line);
    if (lastLines.length > 20) lastLines.shift();
    const url = /listening on (http:\/\/[\d.]+:\d+)/.exec(line)?.[1];
    if (url !== undefined) resolve(url);
  };
  // Read to the end of its life: a full pipe would stop the server.
  createInterface({ input: child.stdout }).on('line', read);
  createInterface({ input: child.stderr }).on('line', read);
  child.once('error', reject);
  child.once('exit', (code, signal) => {
    reject(new Error(`llama-server ended (${signal ?? code}) before it listened:\n${lastLines.join('\n')}`));
  });
  const limit = setTimeout(() => {
    reject(new Error(`llama-server did not listen in ${stuckAfterMs} ms:\n${lastLines.join('\n')}`));
  }, stuckAfterMs);

  try {
    const url = await listening;
    return { url, port: Number(new URL(url).port), close: () => end('SIGTERM'), kill: () => end('SIGKILL') };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    clearTimeout(limit);
  }
}

/** The model's file, whose weights are float32. */
export const tinyModel = (): string => join(findLlama(), 'tiny.gguf');

/** The folder of the server and its model. Throws when it was not built (`npm run test:engine` builds it). */
export function findLlama(): string {
  const answer = spawnSync(buildScript, ['--where'], { encoding: 'utf8' });
  if (answer.status === 0) return answer.stdout.trim();
  throw new Error(answer.error?.message ?? answer.stderr.trim());
}
