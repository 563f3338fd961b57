import { surviveShortages } from '../../process/shortages.ts';
import { commandGroups } from './command-groups.ts';
import { complaint } from './complaint.ts';
import { printError } from './print.ts';

/** Runs one command line in this process. `process.exitCode` is 0 or absent, 1 when the command failed, 2 when it was not understood. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  const load = commandGroups.find((group) => group.name === argv[0])?.load;
  if (load?.kind !== 'program') {
    // Programs do not need the parser of commands, and each of them would keep it in memory.
    const { runCommand } = await import('./run-command.ts');
    return runCommand(argv);
  }
  // Every program that keeps running starts here. Commands do not survive a shortage: they would end without a result.
  const endSurvival = surviveShortages(printNewShortages());
  try {
    const run = await load.run();
    process.exitCode = await run(argv.slice(1));
  } catch (error) {
    process.exitCode = 1;
    printError(complaint(error, argv.includes('--json') ? 'json' : 'text'));
  } finally {
    endSurvival();
  }
}

/** Prints shortages of a program that has no log. They may come many times a second, so the same one is printed once. */
function printNewShortages(): (error: Error) => void {
  let printed = '';
  return ({ message }) => {
    if (message === printed) return;
    printed = message;
    printError(`weir: out of system resources: ${message}\n`);
  };
}
