import { open, rename } from 'node:fs/promises';
import type { z } from 'zod';
import { maxKeptBytes, readBoundedFile } from './bounded-file.ts';

/** Reads a JSON file that Weir keeps for itself. Undefined: there is none, or it is not readable as `schema`. */
export async function readKeptFile<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  try {
    return schema.parse(JSON.parse(String(await readBoundedFile(file, maxKeptBytes))));
  } catch {
    return undefined;
  }
}

/**
 * Replaces the text of a file. A reader finds the text before or the whole new one, also after a loss of power. Rejects when
 * the file cannot be written. `mode`: of the new file.
 */
export async function replaceFile(file: string, text: string, mode?: number): Promise<void> {
  // Several services of one data folder may write at the same moment.
  const draft = `${file}.draft-${process.pid}`;
  {
    await using handle = await open(draft, 'w', mode);
    // A draft that a killed process left may be readable by others.
    if (mode !== undefined) await handle.chmod(mode);
    await handle.writeFile(text);
    await handle.sync();
  }
  await rename(draft, file);
}
