import type { Clock } from '../../core/clock.ts';
import { messageOf } from '../../core/failure.ts';
import type { OpenDatabase, UpkeepOptions } from './database.ts';

/** Pause when there is nothing to do, or a step failed. */
const quietMs = 60_000;

/** A larger change of the clock is a jump. Smaller ones are corrections. */
const maxCorrectionMs = 3_600_000;
/** A clock that was set forward is believed after this time. */
const believedAfterMs = 24 * 3_600_000;

/**
 * The time by which requests are deleted: a clock that jumps forward counts a day later. If the jump was a mistake, requests
 * that should be kept would be gone, and new ones would be refused as older than the kept ones until the clock is there
 * again.
 */
export function createDeletionTime({ now: wall, elapsed }: Pick<Clock, 'now' | 'elapsed'>): () => number {
  let seen = { at: wall(), elapsed: elapsed() };
  let aheadMs = 0;
  let jumpedAt = 0;
  return () => {
    const next = { at: wall(), elapsed: elapsed() };
    const jumpMs = next.at - seen.at - (next.elapsed - seen.elapsed);
    seen = next;
    if (Math.abs(jumpMs) > maxCorrectionMs) [aheadMs, jumpedAt] = [Math.max(0, aheadMs + jumpMs), next.elapsed];
    else if (next.elapsed - jumpedAt >= believedAfterMs) aheadMs = 0;
    return next.at - aheadMs;
  };
}

export type UpkeepRunner = ReturnType<typeof startUpkeep>;

/**
 * Takes the steps of upkeep one after the other. The pause after each is as long as the step, so upkeep takes at most
 * half of the time. If upkeep shares its connection with settlements, `wake` is called when a step is due, and the
 * caller runs `step` when nothing else waits.
 */
export function startUpkeep(
  database: Pick<OpenDatabase, 'beginUpkeep'>,
  given: Omit<UpkeepOptions, 'now'> & {
    readonly clock: Clock;
    readonly wake: () => void;
    /** Called when nothing is left to do for now, and when a step failed. */
    readonly rested: (result: 'done' | 'failed') => void;
  },
) {
  const { clock } = given;
  const options = { ...given, now: createDeletionTime(clock) };
  let upkeep = database.beginUpkeep(options);
  let phase: 'paused' | 'due' | 'stopped' = 'paused';
  let underWay: Promise<void> | undefined;
  let cancelTimer = clock.after(0, due);

  function due(): void {
    phase = 'due';
    if (upkeep.place === 'beside') underWay = step();
    else options.wake();
  }

  async function step(): Promise<void> {
    phase = 'paused';
    const begun = clock.elapsed();
    let pauseMs = quietMs;
    try {
      const { value } = await upkeep.steps.next();
      if (value === 'more') pauseMs = clock.elapsed() - begun;
      else options.rested('done');
    } catch (error) {
      if (isStopped()) return;
      options.rested('failed');
      options.report(`ledger maintenance failed, retrying in a minute: ${messageOf(error)}`);
      const failed = upkeep;
      upkeep = database.beginUpkeep(options);
      await failed.stop();
    }
    if (!isStopped()) cancelTimer = clock.after(pauseMs, due);
  }

  function isStopped(): boolean {
    return phase === 'stopped';
  }

  return {
    /** Whether a step should be taken now, before other work on the database. */
    isDue: (): boolean => phase === 'due',
    /** Takes a step; never rejects. */
    step,
    stop: async (): Promise<void> => {
      phase = 'stopped';
      cancelTimer();
      await upkeep.stop();
      await underWay;
    },
  };
}
