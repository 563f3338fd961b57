import { Command, CommanderError } from 'commander';
import manifest from '../../../package.json' with { type: 'json' };
import { commandGroups } from './command-groups.ts';
import { complaint } from './complaint.ts';
import { printError } from './print.ts';

/** Runs a command that is no program. `process.exitCode` as in `runCommandLine`. */
export async function runCommand(argv: readonly string[]): Promise<void> {
  const chosen = commandGroups.find((group) => group.name === argv[0]);
  try {
    if (!process.stdout.listeners('error').includes(ignoreBrokenPipe)) process.stdout.on('error', ignoreBrokenPipe);
    const program = new Command('weir')
      .description(manifest.description)
      .version(manifest.version)
      .exitOverride()
      // The error is printed once, below, in the requested form.
      .configureOutput({ outputError: () => {} });
    for (const group of commandGroups) {
      if (group !== chosen) program.command(group.name).description(group.summary);
      else if (group.load.kind === 'commands') (await group.load.register())(program);
    }
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return;
    process.exitCode = error instanceof CommanderError ? 2 : 1;
    // With this code, commander has printed the help of a group that was given without a command.
    if (error instanceof CommanderError && error.code === 'commander.help') return;
    printError(complaint(error, argv.includes('--json') ? 'json' : 'text'));
  }
}

/** If a reader such as `head` has seen enough, the command has not failed. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
