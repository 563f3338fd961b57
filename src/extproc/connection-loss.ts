import type { Clock } from '../core/clock.ts';
import { ByNumber } from '../core/by-number.ts';

/**
 * How long after the end of its calls a connection may be lost, milliseconds. An Envoy that was asked to end ends its
 * calls one by one before it closes their connection, as if each caller had left. A killed Envoy closes everything at
 * once; only an engine's answer can be seen to break off before that.
 */
const afterLeavingMs = 100;
const afterFailingMs = 25;

/** Whether the connection of some calls was lost. Their callers did not cause that. */
export class ConnectionLoss {
  #lost = false;
  readonly #waiting = new ByNumber<() => void>();
  #asked = 0;
  readonly #clock: Pick<Clock, 'after'>;

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** The connection is gone, with every call that was on it. */
  happened(): void {
    this.#lost = true;
    for (const notify of this.#waiting.values()) notify();
  }

  /**
   * Resolves to whether the connection is lost: at once if it is, otherwise after the time in which that would show.
   * `seen`: how the asking call ended.
   */
  settled(seen: 'caller-left' | 'failed'): Promise<boolean> {
    if (this.#lost) return Promise.resolve(true);
    const number = (this.#asked += 1);
    return new Promise((resolve) => {
      const notify = (): void => {
        cancelTimer();
        this.#waiting.delete(number);
        resolve(this.#lost);
      };
      const cancelTimer = this.#clock.after(seen === 'failed' ? afterFailingMs : afterLeavingMs, notify);
      this.#waiting.set(number, notify);
    });
  }
}
