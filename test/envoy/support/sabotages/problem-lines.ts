import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { problemReportSchema } from '../../../../src/control/core/problem.ts';
import type { Ended } from '../../../support/run-weir.ts';
import { askService } from '../ask-service.ts';

/** A line of `weir problems`. */
export interface Line {
  readonly object: string;
  readonly problem: string;
  readonly action: string;
}

/** Leaves out what the machine of the test lacks. */
const ofGateway = <Some extends Pick<Line, 'object'>>(lines: readonly Some[]): readonly Some[] =>
  lines.filter(({ object }) => object !== 'disk');

/** The lines of `weir problems --json`. */
export function linesOf({ stdout, stderr, code }: Ended): readonly Line[] {
  expect([stderr, code]).toEqual(['', 0]);
  return ofGateway(JSON.parse(stdout) as readonly Line[]);
}

/** Reads the list of a service itself, without a program that a busy machine has to start first. */
export async function glanceAt(gateway: Parameters<typeof askService>[0]): Promise<() => Promise<readonly Line[]>> {
  const ask = await askService(gateway);
  return async () => ofGateway(problemReportSchema.parse(await ask('problems')).problems);
}

interface Wait {
  readonly isSo: (lines: readonly Line[]) => boolean;
  /** The lines in a cheaper way: they are read with the command once these are as wanted. */
  readonly glance?: () => Promise<readonly Line[]>;
  /** Goes on in the background, again and again: the callers of the gateway. */
  readonly meanwhile: () => Promise<unknown>;
  readonly withinMs: number;
}

/** How long a sabotage may last until it is a line, and its repair until it is none. */
export const withinMs = 30_000;

/** Reads the lines until they are as wanted, or for a time, and returns the last ones. */
export async function untilLines(
  read: () => Promise<readonly Line[]>,
  { isSo, glance = read, meanwhile, withinMs: limitMs }: Wait,
): Promise<readonly Line[]> {
  const over = AbortSignal.timeout(limitMs);
  let isWaiting = true;
  const callers = (async (): Promise<void> => {
    while (isWaiting) {
      await Promise.all([meanwhile(), sleep(500)]);
    }
  })();
  const wanted = async (): Promise<boolean> => glance === read || isSo(await glance());
  let lines: readonly Line[] | undefined;
  while (!over.aborted && (lines === undefined || !isSo(lines))) {
    if (await wanted()) lines = await read();
    else await sleep(100);
  }
  lines ??= await read();
  isWaiting = false;
  await callers;
  return lines;
}
