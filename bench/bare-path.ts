import { fork } from 'node:child_process';
import { once } from 'node:events';
import { nodeFlags } from '../src/local/launch-service.ts';

interface BarePathOptions {
  /** Envoy's binary. */
  readonly binary: string;
  readonly folder: string;
  readonly enginePort: number;
}

export interface BarePath {
  readonly port: number;
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

/**
 * Starts the path of a request through Weir without what Weir does on it: Envoy with Weir's configuration, and a service
 * of Weir's gRPC server and Weir's client for engines, which passes bodies on unread. It has no keys, limits, plans,
 * bills, metrics or store. Its cost is what remains of Weir's cost if the rest costs nothing.
 */
export async function startBarePath({ binary, folder, enginePort }: BarePathOptions): Promise<BarePath> {
  const child = fork(new URL('./bare-path-process.ts', import.meta.url), [folder, String(enginePort), binary], {
    execArgv: [...nodeFlags],
  });
  const exited = once(child, 'exit');
  const [message] = (await Promise.race([once(child, 'message'), exited])) as [unknown];
  if (typeof message !== 'object' || message === null || !('port' in message) || typeof message.port !== 'number') {
    throw new Error('the bare path did not start');
  }
  return {
    port: message.port,
    pid: child.pid ?? 0,
    stop: async () => {
      if (child.exitCode !== null) return;
      child.disconnect();
      await exited;
    },
  };
}
