import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../core/failure.ts';
import { userName } from './user-name.ts';

/**
 * Makes the data folder where it is missing, and sees to it that this process may write there. Throws an Error that names the folder,
 * what is wrong and what to do: SQLite says of the same "unable to open database file", and `mkdir` ENOENT.
 */
export function makeDataFolder(path: string): void {
  try {
    const nearest = nearestThatExists(resolve(path));
    if (!statSync(nearest).isDirectory()) throw new Error(`${nearest} is a file`);
    // The system says here why it refuses to write, also where `mkdir` does not.
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

/** What is wrong and what to do, up to the settings that name another folder. */
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
