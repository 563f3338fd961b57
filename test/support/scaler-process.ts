import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { compileCache } from './program-environment.ts';
import { stuckAfterMs } from './stuck-after.ts';

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');
const readyLine = z.object({ msg: z.literal('ready'), port: z.number(), opsPort: z.number() });

/** `weir scaler` as a process of its own. */
export interface ScalerProcess {
  readonly port: number;
  readonly metrics: () => Promise<string>;
  readonly close: () => Promise<void>;
}

/** Starts one on free ports. Rejects when it ends before it is ready, or is not ready in a minute. */
export async function spawnScaler(args: readonly string[]): Promise<ScalerProcess> {
  const child = spawn(process.execPath, [main, 'scaler', '--port', '0', '--ops-port', '0', ...args], {
    env: { PATH: process.env['PATH'], ...compileCache, WEIR_LOG_FORMAT: 'json' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const close = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  const late = setTimeout(() => child.kill('SIGKILL'), stuckAfterMs);
  for await (const line of createInterface(child.stdout)) {
    const ready = readyLine.safeParse(JSON.parse(line));
    if (!ready.success) continue;
    clearTimeout(late);
    // Records that nobody reads would stop the process.
    child.stdout.resume();
    const { port, opsPort } = ready.data;
    const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    return { port, metrics, close };
  }
  clearTimeout(late);
  throw new Error('the scaler ended before it was ready');
}
