import type { Clock } from '../../core/clock.ts';
import { messageOf } from '../../core/failure.ts';
import type { OpenDatabase, UpkeepOptions } from './database.ts';

/** Pause when there is nothing to do, or a step failed. */
const quietMs = 60_000;

export interface UpkeepRunner {
  /** Whether a step should be taken now, before other work on the database. */
  readonly isDue: () => boolean;
  /** Takes a step; never rejects. */
  readonly step: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * Takes the steps of upkeep one after the other. The pause after each is as long as the step, so upkeep takes at most
 * half of the time. Steps between settlements are left to `wake`, which takes one when nothing waits.
 */
export function startUpkeep(
  database: Pick<OpenDatabase, 'beginUpkeep'>,
  given: Omit<UpkeepOptions, 'now'> & {
    readonly clock: Clock;
    readonly wake: () => void;
    /** Called when nothing is left to do for now, and when a step failed. */
    readonly rested: (result: 'done' | 'failed') => void;
  },
): UpkeepRunner {
  const { clock } = given;
  const options = { ...given, now: clock.now };
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
      options.report(`the upkeep of the ledger failed, and goes on in a minute: ${messageOf(error)}`);
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
    isDue: () => phase === 'due',
    step,
    stop: async () => {
      phase = 'stopped';
      cancelTimer();
      await upkeep.stop();
      await underWay;
    },
  };
}
