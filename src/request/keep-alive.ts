import type { Clock, CancelTimer } from '../core/clock.ts';

/** Speaks up whenever an answer has been silent for a while. */
export interface KeepAlive {
  /** Something was sent: the silence begins anew. */
  readonly sent: () => void;
  readonly stop: () => void;
}

/** Runs `speak` after each `everyMs` of silence until it is stopped. One timer, moved when it fires and not with every chunk. */
export function keepAlive(options: {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly speak: () => void;
}): KeepAlive {
  const { clock, everyMs, speak } = options;
  let lastSent = clock.elapsed();
  let disarm: CancelTimer = () => undefined;

  function watch(delayMs: number): void {
    disarm = clock.after(delayMs, () => {
      const left = lastSent + everyMs - clock.elapsed();
      if (left > 0) watch(left);
      else {
        lastSent = clock.elapsed();
        watch(everyMs);
        speak();
      }
    });
  }

  watch(everyMs);
  return {
    sent: () => {
      lastSent = clock.elapsed();
    },
    stop: () => disarm(),
  };
}
