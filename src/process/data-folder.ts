import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../core/failure.ts';
import { userName } from './user-name.ts';

/**
 * Makes the data folder if it is missing, and checks that this process may write there. Throws an Error with the
 * folder, the fault and the remedy. Without this check the errors are useless: SQLite's is "unable to open database
 * file", and that of `mkdir` is ENOENT.
 */
export function makeDataFolder(path: string): void {
  try {
    const nearest = nearestThatExists(resolve(path));
    if (!statSync(nearest).isDirectory()) throw new Error(`${nearest} is a file`);
    // This check names the reason why the system refuses to write, also where `mkdir` does not.
    accessSync(nearest, constants.W_OK | constants.X_OK);
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    const reason = reasonOf(error) ?? `${messageOf(error)}. Choose another folder`;
    throw new Error(`The data folder ${path} cannot be used: ${reason} with --data or WEIR_DATA.`, { cause: error });
  }
}

function nearestThatExists(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestThatExists(dirname(path));
}

/** The fault and the remedy. The caller appends the settings that name another folder. */
function reasonOf(error: unknown): string | undefined {
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'EROFS':
      return 'its file system is read-only (EROFS). Mount it writable, or choose another folder';
    case 'EACCES':
    case 'EPERM':
      return `user ${userName()} may not write there (EACCES). Give the folder to that user, or choose another one`;
    default:
      return undefined;
  }
}
