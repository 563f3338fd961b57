import { createReadStream, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { refusal } from '../../books/core/operator-refusals.ts';
import { maxConfigurationBytes } from '../../process/bounded-file.ts';

/** Other names of standard input. They are not opened, because a socket in its place cannot be. */
const stdinPaths: ReadonlySet<string> = new Set(['-', '/dev/stdin', '/dev/fd/0', '/proc/self/fd/0']);

/** Whether a path of the command line is standard input. */
export const isStdin = (path: string): boolean => stdinPaths.has(path);

/**
 * Reads a text that a person gives to a command: a file, a pipe such as `<(…)`, or standard input as `-`. It waits for
 * the end of a pipe, and reads at most the bound. Throws an error that names the input and `what` was expected of it.
 */
export async function readInput(
  path: string,
  { what, stdin = process.stdin }: { readonly what: string; readonly stdin?: Readable },
) {
  const name = isStdin(path) ? 'standard input' : path;
  const refuse = (but: string, cause?: unknown): Error =>
    refusal('field_malformed', { field: name, expected: `expected ${what}${but}` }, { cause });
  const bytes = await readBounded(isStdin(path) ? stdin : await openFile(path, refuse), refuse);
  if (bytes.length === 0) throw refuse(', not an empty text');
  try {
    return {
      /** For messages: the path, or `standard input`. */
      name,
      text: new TextDecoder('utf-8', { fatal: true }).decode(bytes),
    };
  } catch (cause) {
    throw refuse(' as text in UTF-8', cause);
  }
}

type Refuse = (but: string, cause?: unknown) => Error;

async function openFile(path: string, refuse: Refuse): Promise<Readable> {
  let stats: Stats;
  try {
    stats = await stat(path);
  } catch (cause) {
    throw refuse(' in a file that can be read, or - for standard input', cause);
  }
  // A device may have no end and no beginning.
  if (!stats.isFile() && !stats.isFIFO()) throw refuse(' in a regular file or a pipe, or - for standard input');
  return createReadStream(path);
}

async function readBounded(stream: Readable, refuse: Refuse): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  // Leaving the loop closes the stream.
  for await (const piece of stream) {
    const bytes = Buffer.from(piece);
    size += bytes.length;
    if (size > maxConfigurationBytes) throw refuse(` of at most ${maxConfigurationBytes} bytes`);
    pieces.push(bytes);
  }
  return Buffer.concat(pieces);
}
