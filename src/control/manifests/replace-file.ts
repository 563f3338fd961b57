import { open, rename } from 'node:fs/promises';

/**
 * Replaces the text of a file. A reader finds the text before or the whole new one, also after a loss of power. Rejects when
 * the file cannot be written. `mode`: of a new file.
 */
export async function replaceFile(file: string, text: string, mode?: number): Promise<void> {
  // Several services of one data folder may write at the same moment.
  const draft = `${file}.draft-${process.pid}`;
  {
    await using handle = await open(draft, 'w', mode);
    await handle.writeFile(text);
    await handle.sync();
  }
  await rename(draft, file);
}
