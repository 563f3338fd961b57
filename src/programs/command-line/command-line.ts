import { Command, CommanderError } from 'commander';
import manifest from '../../../package.json' with { type: 'json' };
import { surviveShortages } from '../../process/shortages.ts';
import { commandGroups } from './command-groups.ts';
import { complaint } from './complaint.ts';
import { printError } from './print.ts';

/** Runs one command line in this process. `process.exitCode` is 0 or absent, 1 when the command failed, 2 when it was not understood. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  const chosen = commandGroups.find((group) => group.name === argv[0]);
  try {
    if (chosen?.load.kind === 'program') {
      // Every program that keeps running starts here. Commands do not survive a shortage: they would end without a result.
      const endSurvival = surviveShortages(printNewShortages());
      try {
        const run = await chosen.load.run();
        process.exitCode = await run(argv.slice(1));
      } finally {
        endSurvival();
      }
      return;
    }
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

/** Prints shortages of a program that has no log. They may come many times a second, so the same one is printed once. */
function printNewShortages(): (error: Error) => void {
  let printed = '';
  return ({ message }) => {
    if (message === printed) return;
    printed = message;
    printError(`weir: the system has nothing left for this process: ${message}\n`);
  };
}

/** If a reader such as `head` has seen enough, the command has not failed. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
