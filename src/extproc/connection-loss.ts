import type { Clock } from '../core/clock.ts';
import { ByNumber } from '../core/by-number.ts';

/**
 * How long the loss of a connection may come after what it makes of the calls on it, milliseconds. An Envoy that was asked to end
 * ends its calls one by one before it closes their connection, as if each caller had left. One that is killed closes
 * everything at once; only an engine's answer may be seen to break off before that.
 */
const afterLeavingMs = 100;
const afterFailingMs = 25;

/** Whether the connection of some calls was lost, which is nothing that their callers did. */
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
   * Resolves to whether it is lost: at once when it is, or after the moment in which that would show. `seen`: what became of the
   * call that asks.
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
