import { fork } from 'node:child_process';
import { once } from 'node:events';

/** A server of the bench in a process of its own. */
export interface PortProcess {
  readonly port: number;
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a program that tells its parent the port that it listens on, and ends when its parent disconnects. Throws if it
 * tells no port.
 */
export async function startPortProcess(
  program: URL,
  { args, nodeFlags = [] }: { readonly args: readonly string[]; readonly nodeFlags?: readonly string[] },
): Promise<PortProcess> {
  const child = fork(program, [...args], { execArgv: [...nodeFlags] });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) return;
    child.disconnect();
    await exited;
  };
  const [message] = (await Promise.race([once(child, 'message'), exited])) as [unknown];
  if (typeof message !== 'object' || message === null || !('port' in message) || typeof message.port !== 'number') {
    await stop();
    throw new Error(`${program.pathname} did not start`);
  }
  return { port: message.port, pid: child.pid ?? 0, stop };
}
