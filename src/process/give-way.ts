import { setPriority } from 'node:os';

/**
 * Lets other threads go first where processors are scarce: for a thread whose work takes long and can wait a little. On
 * Linux a priority belongs to the calling thread; where it cannot be lowered the thread simply runs as it is.
 */
export function giveWay(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, 5);
  } catch {
    // Some sandboxes forbid it, and it is a courtesy only.
  }
}
