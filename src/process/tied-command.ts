import { runCommand } from './run-command.ts';

/** A program and its arguments. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * The same command, made to die with this process even when that is killed with SIGKILL (PR_SET_PDEATHSIG, prctl(2)).
 * Unchanged where `setpriv` of util-linux is missing; the next start then ends what was left.
 */
export async function tieToThisProcess({ command, args }: Command): Promise<Command> {
  const tie = ['--pdeathsig', 'KILL', '--'];
  const { code } = await runCommand('setpriv', [...tie, 'true'], { timeoutMs: 5_000 });
  return code === 0 ? { command: 'setpriv', args: [...tie, command, ...args] } : { command, args };
}
