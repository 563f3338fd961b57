import { stuckAfterMs } from './stuck-after.ts';

export interface QuickRun<Value> {
  readonly boundMs: number;
  /** Runs before each try, outside its time. */
  readonly prepare?: () => Promise<unknown>;
  readonly run: () => Promise<Value>;
}

/**
 * Repeats a run until it has taken less than the bound, and returns its last result. A busy machine slows down some runs; a wait that
 * the bound excludes slows down all of them. Rejects with the shortest time if the test is stuck.
 */
export async function untilQuick<Value>({ boundMs, prepare, run }: QuickRun<Value>): Promise<Value> {
  const begunMs = performance.now();
  let shortestMs = Infinity;
  for (;;) {
    await prepare?.();
    const fromMs = performance.now();
    const value = await run();
    const untilMs = performance.now();
    shortestMs = Math.min(shortestMs, untilMs - fromMs);
    if (shortestMs < boundMs) return value;
    if (untilMs - begunMs > stuckAfterMs) throw new Error(`the shortest run took ${Math.round(shortestMs)} ms`);
  }
}
