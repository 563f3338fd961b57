import type { Clock, Disarm } from '../core/clock.ts';

/** Tells whether the service has turned nearly every new request away for long. */
export interface ShedWatch {
  readonly isSheddingAll: () => boolean;
  readonly close: () => void;
}

export interface ShedWatchOptions {
  readonly clock: Clock;
  /** Share of new requests that are turned away now, from 0 to 1. */
  readonly shedShare: () => number;
}

const lookEveryMs = 500;
const nearlyAll = 0.95;
/** For long: a rush or a collection of garbage is over by then, and a balancer has the time to act. */
const longMs = 5_000;
/** From here on enough requests pass again. */
const enoughPass = 0.5;

/**
 * Watches the share by itself, with no request needed: a replica that is not ready gets none, and must be seen to recover all
 * the same.
 */
export function createShedWatch({ clock, shedShare }: ShedWatchOptions): ShedWatch {
  let since: number | undefined;
  let isSheddingAll = false;
  let disarm: Disarm = clock.after(lookEveryMs, look);

  function look(): void {
    disarm = clock.after(lookEveryMs, look);
    const share = shedShare();
    if (share >= nearlyAll) {
      since ??= clock.elapsed();
      if (clock.elapsed() - since >= longMs) isSheddingAll = true;
    } else {
      since = undefined;
      if (share < enoughPass) isSheddingAll = false;
    }
  }

  return { isSheddingAll: () => isSheddingAll, close: () => disarm() };
}
