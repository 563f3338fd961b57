/** Why a request was refused: which of the service's own resources ran short. */
export const shedReasons = ['queue', 'event-loop', 'memory', 'open-files', 'open-requests'] as const;
export type ShedReason = (typeof shedReasons)[number];

/** How busy the service itself is. Measured on a timer, not for each request. */
export interface Load {
  /** How long a ready task waits for the event loop, on average over the last fractions of a second. */
  readonly eventLoopDelayMs: number;
  /** The part of that delay in which the event loop itself ran. The rest is time in which other programs had the cores. */
  readonly ownDelayMs: number;
  /** Memory in use, as a share of the limit. */
  readonly memoryShare: number;
  /** Open files, as a share of the limit; 0 where the system does not count them. */
  readonly filesShare: number;
  /** The median wait of the newest requests before the service. */
  readonly medianWaitMs: number;
  /**
   * For how long requests have had to queue: the time in which the median wait was above the threshold, less twice the
   * time in which it was below. A burst of any size drains after a while; a queue that lasts is overload.
   */
  readonly queuedForMs: number;
}

/** Keeps the load up to date. */
export interface LoadMeter {
  readonly current: () => Load;
  /** Records that a request of a known caller has arrived after this wait. Costs next to nothing. */
  readonly arrived: (waitedMs: number) => void;
}
