import { expect } from 'vitest';
import type { Ended } from '../../../support/run-weir.ts';

/** A line of `weir problems`. */
export interface Line {
  readonly object: string;
  readonly problem: string;
  readonly action: string;
}

/** The lines of `weir problems --json`, but for what the machine of the test lacks. */
export function linesOf({ stdout, stderr, code }: Ended): readonly Line[] {
  expect([stderr, code]).toEqual(['', 0]);
  return (JSON.parse(stdout) as readonly Line[]).filter(({ object }) => object !== 'disk');
}

interface Wait {
  readonly isSo: (lines: readonly Line[]) => boolean;
  /** Goes on in the background, again and again: the callers of the gateway. */
  readonly meanwhile: () => Promise<unknown>;
  readonly withinMs: number;
}

/** How long a sabotage may last until it is a line, and its repair until it is none. */
export const withinMs = 30_000;

/** Reads the lines until they are as wanted, or for a time, and returns the last ones. */
export async function untilLines(
  read: () => Promise<readonly Line[]>,
  { isSo, meanwhile, withinMs: limitMs }: Wait,
): Promise<readonly Line[]> {
  const over = AbortSignal.timeout(limitMs);
  let isWaiting = true;
  const callers = (async (): Promise<void> => {
    while (isWaiting) {
      await Promise.all([meanwhile(), new Promise((resolve) => setTimeout(resolve, 500))]);
    }
  })();
  let lines = await read();
  while (!isSo(lines) && !over.aborted) lines = await read();
  isWaiting = false;
  await callers;
  return lines;
}
