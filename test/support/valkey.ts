import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Valkey } from 'iovalkey';
import { findValkey } from './find-valkey.ts';

/** A Valkey or Redis server of a test's own: on a Unix socket in a folder of its own, and nothing of it on the disk. */
export interface TestValkey {
  /** For `WEIR_VALKEY_URL`. */
  readonly url: string;
  /** Ends it with SIGKILL. */
  readonly kill: () => Promise<void>;
  /** Starts it again, empty, at the same place. */
  readonly start: () => Promise<void>;
  /** Stops it where it stands: connections stay open and nothing is answered. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Asks the server something behind the back of what is under test. */
  readonly ask: <Answer>(question: (client: Valkey) => Promise<Answer>) => Promise<Answer>;
  readonly close: () => Promise<void>;
}

export async function startValkey(): Promise<TestValkey> {
  const path = await findValkey();
  const folder = mkdtempSync(join(tmpdir(), 'weir-valkey-'));
  const socket = join(folder, 'valkey.sock');
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const args = ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no', '--dir', folder];
    const started = spawn(path, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    child = started;
    let printed = '';
    await new Promise<void>((resolve, reject) => {
      started.once('error', reject);
      started.once('exit', (code) => reject(new Error(`${path} ended with ${String(code)}: ${printed}`)));
      started.stdout.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
        if (printed.includes('eady to accept connections')) resolve();
      });
    });
  }

  async function kill(): Promise<void> {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const gone = once(ending, 'exit');
    ending.kill('SIGKILL');
    await gone;
  }

  await start();
  return {
    url: socket,
    start,
    kill,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    ask: async (question) => {
      const client = new Valkey(socket);
      try {
        return await question(client);
      } finally {
        client.disconnect();
      }
    },
    close: async () => {
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}
