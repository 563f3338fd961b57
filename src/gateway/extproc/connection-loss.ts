import type { Clock } from '../../core/clock.ts';
import { ByNumber } from '../../core/by-number.ts';

/**
 * How long after the end of its calls the loss of a connection may be seen, milliseconds. An Envoy that shuts down ends
 * its calls one by one before it closes their connection, as if each caller had left. A killed Envoy closes everything
 * at once, and only an engine's answer may be seen to break off shortly before.
 */
const afterLeavingMs = 100;
const afterFailingMs = 25;

/** Whether the connection of some calls was lost. If so, their callers did not end them. */
export class ConnectionLoss {
  #lost = false;
  readonly #waiting = new ByNumber<() => void>();
  #asked = 0;
  readonly #clock: Pick<Clock, 'after'>;

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** Called when the connection is gone, with every call that was on it. */
  happened(): void {
    this.#lost = true;
    for (const notify of this.#waiting.values()) notify();
  }

  /**
   * Resolves to whether the connection was lost: at once if it was, otherwise after the time within which a loss is
   * seen. `seen`: how the call ended for which this is asked.
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
