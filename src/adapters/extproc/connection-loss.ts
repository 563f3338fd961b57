/**
 * How long the loss of a connection may come after what it makes of the calls on it, milliseconds. An Envoy that is told to end
 * ends its calls one by one before it closes their connection, and one that is killed may cut an engine's answer first.
 */
const lossShowsWithinMs = 100;

/** Whether the connection of some calls was lost, which is nothing that their callers did. */
export class ConnectionLoss {
  #lost = false;
  readonly #waiting = new Set<() => void>();

  /** The connection is gone, with every call that was on it. */
  happened(): void {
    this.#lost = true;
    for (const tell of this.#waiting) tell();
  }

  /** Resolves to whether it is lost: at once when it is, or after the moment in which that would show. */
  settled(): Promise<boolean> {
    if (this.#lost) return Promise.resolve(true);
    return new Promise((resolve) => {
      const tell = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(tell);
        resolve(this.#lost);
      };
      const timer = setTimeout(tell, lossShowsWithinMs);
      this.#waiting.add(tell);
    });
  }
}
