import { readFile, stat } from 'node:fs/promises';

/** A file that holds a secret, read again when it changes. */
export interface KeyFile<T> {
  /** What it holds now. Rejects when there is no such file, or nothing useful in it. */
  readonly read: () => Promise<T>;
}

/**
 * Follows a file by its time, its size and its place on the disk: Kubernetes swaps a mounted Secret by moving a link. One
 * that cannot be read any more keeps what it held: a moment without it, in the middle of a swap, is no reason to fail.
 * `parse` throws what is wrong with the text, without quoting it.
 */
export function keyFile<T>(path: string, parse: (text: string) => T): KeyFile<T> {
  let held: { readonly mark: string; readonly value: T } | undefined;
  return {
    read: async () => {
      try {
        const { mtimeMs, size, ino } = await stat(path);
        const mark = `${mtimeMs} ${size} ${ino}`;
        if (held?.mark !== mark) held = { mark, value: parse(await readFile(path, 'utf8')) };
      } catch (error) {
        if (held === undefined) throw error;
      }
      return held.value;
    },
  };
}

/** Reads the key of a provider's API: one line of visible characters. */
export function readApiKey(text: string): string {
  const key = text.trim();
  if (!/^[\x21-\x7e]{1,4096}$/.test(key)) throw new Error('expected one line with the key');
  return key;
}
