import { accessSync, constants, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A program that a machine may have. */
export interface WantedProgram {
  /** `postgres` */
  readonly program: string;
  /** Folders that come before those of PATH, as patterns, the newest version last in the order of names. */
  readonly folders?: readonly string[];
}

/** Path of a program of this machine; undefined where it has none. */
export function findProgram({ program, folders = [] }: WantedProgram): string | undefined {
  const onPath = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const others = folders.flatMap((pattern) => globSync(pattern).toSorted(byVersion).toReversed());
  return [...others, ...onPath].map((folder) => join(folder, program)).find(isExecutable);
}

function byVersion(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
