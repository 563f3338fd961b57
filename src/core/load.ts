/** What a request was turned away for: which of the service's own means ran short. */
export type ShedReason = 'queue' | 'event-loop' | 'memory' | 'open-requests';

/** How busy the service itself is. Looked at on a timer, not for each request. */
export interface Load {
  /** How long something that becomes ready waits for the event loop, on average over the last fractions of a second. */
  readonly eventLoopDelayMs: number;
  /** Memory in use, as a share of what may be. */
  readonly memoryShare: number;
  /** The wait before the service that half of the newest requests had at least. */
  readonly standingWaitMs: number;
  /**
   * For how long requests have had to stand in a queue, more or less: the time for which the standing wait was more than a
   * moment, less double the time for which it was not. A burst, however many come at once, is through after a while; what
   * lasts is more than can be served.
   */
  readonly queuedForMs: number;
}

/** Keeps the load up to date. */
export interface LoadMeter {
  readonly current: () => Load;
  /** A request has come, after this wait. Costs next to nothing. */
  readonly arrived: (waitedMs: number) => void;
}
