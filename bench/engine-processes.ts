import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { enginesSharePort } from './mock-engine.ts';

export interface EngineProcesses {
  readonly port: number;
  readonly pids: readonly number[];
  readonly stop: () => Promise<void>;
}

/**
 * Starts mock engines that share one port, each in its own process, so that the engine is never what limits a load.
 * Starts a single one where ports cannot be shared.
 */
export async function startEngines(wanted: number): Promise<EngineProcesses> {
  const count = enginesSharePort ? wanted : 1;
  const children: ChildProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(
      children.map(async (child) => {
        if (child.exitCode !== null) return;
        const exited = once(child, 'exit');
        child.disconnect();
        await exited;
      }),
    );
  };
  let port = 0;
  for (let index = 0; index < count; index += 1) {
    const child = fork(new URL('./mock-engine-process.ts', import.meta.url), [String(port)], { execArgv: [] });
    children.push(child);
    const [message] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown];
    if (typeof message !== 'object' || message === null || !('port' in message) || typeof message.port !== 'number') {
      await stop();
      throw new Error('the mock engine did not start');
    }
    port = message.port;
  }
  return { port, pids: children.map((child) => child.pid ?? 0), stop };
}
