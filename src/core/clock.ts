/** Stops a timer; calling it twice is harmless. */
export type Disarm = () => void;

/** The only source of time. Tests pass a fake one and advance it by exact amounts. */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Monotonic milliseconds from an arbitrary origin, for durations. */
  readonly elapsed: () => number;
  readonly after: (delayMs: number, run: () => void) => Disarm;
}
