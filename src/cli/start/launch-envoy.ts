import { rmSync } from 'node:fs';
import { startChild } from '../../process/child.ts';
import { pause } from '../../process/clock.ts';
import type { EnvoyAdmin } from '../../envoy/runtime/admin.ts';
import type { Launched } from '../../process/supervise.ts';
import type { Command } from '../../process/tied-command.ts';

const pollMs = 30;

/** Starts Envoy. `isUp` resolves when it is live: its listeners accept. */
export function launchEnvoy(
  command: Command,
  options: {
    readonly logPath: string;
    readonly admin: EnvoyAdmin;
    /** Sockets that Envoy binds; what a killed one left of them is removed first. */
    readonly sockets: readonly string[];
    readonly over: AbortSignal;
  },
): Launched {
  for (const socket of options.sockets) rmSync(socket, { force: true });
  const child = startChild({ ...command, logPath: options.logPath });
  const watch = async (): Promise<void> => {
    while (!options.over.aborted && !(await options.admin.isReady())) await pause(pollMs, options.over);
  };
  return { child, isUp: watch(), isAnswering: options.admin.isAnswering };
}
