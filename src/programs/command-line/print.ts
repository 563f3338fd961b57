import { printable } from '../../core/printable.ts';

/** Writes to standard output, for people and for scripts. All that commands print goes through here. */
export function print(text: string): void {
  process.stdout.write(printable(text));
}

/** Writes progress and errors to standard error. */
export function printError(text: string): void {
  process.stderr.write(printable(text));
}
