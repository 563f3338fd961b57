/** What the measured performance of models goes by: every number with its reason, in one place. */
export const thresholds = {
  /**
   * Medians are over half an hour: long enough for five answers of a model that is asked every few minutes, short enough
   * to follow the day's load. It turns by a third at a time: each slice more is a kilobyte or two more of every model.
   */
  windowMs: 30 * 60_000,
  windowSlices: 3,
  /** A figure whose newest measurement is older says nothing about now: the contract then wants none. */
  freshMs: 15 * 60_000,
  /** Fewer, and one odd answer moves the median. */
  minSamples: 5,
  /** In a shorter answer the pauses between packets outweigh the pace of the tokens. */
  minTokens: 16,
  /**
   * A stream delivered within less came as a burst: something on the way had buffered it, and its time says nothing of how
   * fast it was generated. An event loop is late by a few milliseconds at times; at 50 that is an error of a few percent.
   */
  minStreamMs: 50,
  /** The window of a model without a service level, for operators' eyes only: the default of `serviceLevel`. */
  availabilityWindowSeconds: 900,
  /** The availability window turns by a thirtieth at a time: what is measured covers 29 to 30 of the thirty. */
  availabilitySlices: 30,
  /** Requests in the window before a model is judged: with fewer, one failure is more than the level allows for. */
  minJudged: 20,
  /** A model that left returns when the window holds fewer: half, so that it does not come and go at the border above. */
  minStillJudged: 10,
  /**
   * A model without a route returns when nobody has asked for it for so long: whether it is well again is found out by
   * requests alone, and callers who go by the list send none. Longer than any route is kept from being tried.
   */
  untriedMs: 60_000,
} as const;
