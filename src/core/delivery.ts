/** One answer on its way to its reader. */
export interface Delivery {
  /** Counts bytes handed on. False: hold the next piece back until `onRoom` runs. */
  readonly wrote: (bytes: number) => boolean;
  /** Calls `run` once, as soon as there is room; at once when there is. */
  readonly onRoom: (run: () => void) => void;
  /** The answer is over. `onRoom` does not run any more. */
  readonly release: () => void;
}
