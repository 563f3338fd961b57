import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { PortProcess } from './port-process.ts';

const startTimeoutMs = 120_000;
const stopTimeoutMs = 10_000;

/**
 * Starts another gateway by a command of the shell, as a process group of its own. The command gets `PORT`, on which it
 * must listen, and `ENGINE_URL` and `ENGINE_PORT` of an engine that reads the answer's shape from the model's name. Throws
 * if it ends, or if its port does not answer in two minutes; the message has the end of what it printed.
 */
export async function startPeer(command: string, enginePort: number): Promise<PortProcess> {
  const port = await freePort();
  const engine = { ENGINE_URL: `http://127.0.0.1:${enginePort}/v1`, ENGINE_PORT: String(enginePort) };
  const child = spawn('sh', ['-c', command], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...engine, PORT: String(port) },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => {
      printed = (printed + bytes.toString()).slice(-4_000);
    });
  }
  const { pid = 0 } = child;
  try {
    await answers(port, child);
  } catch (error) {
    await stop(child);
    throw new Error(`the peer did not start: ${printed}`, { cause: error });
  }
  return { port, pid, stop: () => stop(child) };
}

async function answers(port: number, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + startTimeoutMs;
  for (;;) {
    if (child.exitCode !== null) throw new Error('it ended');
    const isReady = await fetch(`http://127.0.0.1:${port}/v1/models`).then(
      async (answer) => {
        await answer.arrayBuffer();
        return true;
      },
      () => false,
    );
    if (isReady) return;
    if (performance.now() > deadline) throw new Error('its port does not answer');
    // Other gateways do not tell when they are ready.
    await wait(100);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Ends the whole group: a shell that waits for its program does not pass signals on. */
async function stop(child: ChildProcess): Promise<void> {
  const closed = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
  signal(child, 'SIGTERM');
  const killer = setTimeout(() => signal(child, 'SIGKILL'), stopTimeoutMs);
  await closed;
  clearTimeout(killer);
}

function signal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch {
    // No process of the group is left.
  }
}
