import { readdir, writeFile } from 'node:fs/promises';
import { setPriority } from 'node:os';

/**
 * Gives processes of Weir the usual priority. The portal has a low one, and beside other programs its figures would be about them. Throws
 * if this is not allowed.
 */
export async function useNormalPriority(pids: readonly number[]): Promise<void> {
  for (const pid of pids) {
    for (const thread of await readdir(`/proc/${pid}/task`)) setPriority(Number(thread), 0);
    // Linux weighs sessions before it looks at the priorities of their threads.
    await writeFile(`/proc/${pid}/autogroup`, '0').catch(() => undefined);
  }
}
