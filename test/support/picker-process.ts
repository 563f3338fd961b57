import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { compileCache } from './program-environment.ts';
import { stuckAfterMs } from './stuck-after.ts';

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');
const readyLine = z.object({ msg: z.literal('ready'), port: z.number(), healthPort: z.number(), opsPort: z.number() });

/** `weir picker` as a process of its own. */
export interface PickerProcess {
  readonly port: number;
  readonly healthPort: number;
  readonly metrics: () => Promise<string>;
  /** With SIGTERM unless told. */
  readonly close: (signal?: NodeJS.Signals) => Promise<void>;
}

/** Starts one on free ports. Rejects when it ends before it is ready, or is not ready in a minute. */
export async function spawnPicker(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<PickerProcess> {
  const child = spawn(process.execPath, [main, 'picker', '--port', '0', '--ops-port', '0', ...args], {
    env: { PATH: process.env['PATH'], ...compileCache, WEIR_PICKER_HEALTH_PORT: '0', WEIR_LOG_FORMAT: 'json', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const close = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  const late = setTimeout(() => child.kill('SIGKILL'), stuckAfterMs);
  for await (const line of createInterface(child.stdout)) {
    const ready = readyLine.safeParse(JSON.parse(line));
    if (!ready.success) continue;
    clearTimeout(late);
    // Records that nobody reads would stop the process.
    child.stdout.resume();
    const { port, healthPort, opsPort } = ready.data;
    const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    return { port, healthPort, metrics, close };
  }
  clearTimeout(late);
  throw new Error('the picker ended before it was ready');
}
