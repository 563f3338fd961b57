/** The numbers by which the performance of models is measured, each with its reason. */
export const thresholds = {
  /**
   * Medians are over half an hour: long enough for five answers of a model that is asked every few minutes, short
   * enough to follow the day's load. The window moves by a third at a time, because each further slice takes a kilobyte
   * or two per model.
   */
  windowMs: 30 * 60_000,
  windowSlices: 3,
  /** A figure is not published if its newest measurement is older than this. */
  freshMs: 15 * 60_000,
  /** With fewer samples one odd answer moves the median. */
  minSamples: 5,
  /** In shorter answers, the pauses between packets outweigh the pace of the tokens. */
  minTokens: 16,
  /**
   * A stream that was delivered in less time arrived as a burst: something on the way had buffered it, and its time
   * says nothing about how fast it was generated. An event loop can be late by a few milliseconds: at 50 ms that is an
   * error of a few percent.
   */
  minStreamMs: 50,
  /** The window of a model without a service level: the default of `serviceLevel`. Only operators see the result. */
  availabilityWindowSeconds: 900,
  /** The availability window moves by a thirtieth at a time, so it covers 29 to 30 thirtieths of its length. */
  availabilitySlices: 30,
  /**
   * A model misses its level only with at least this many requests in the window. With fewer, one failure is more than
   * a level allows.
   */
  minToMiss: 20,
  /**
   * A model that missed its level meets it again when fewer requests are in the window. This is half of `minToMiss`, so
   * that the model does not come and go.
   */
  minToStayMissed: 10,
  /**
   * A route whose engine answers, but whose last requests failed, is on trial after this long without a request: only
   * requests can find out whether it has recovered, and callers who use the list of models send none while the model is not
   * on it. This is longer than any ejection of a route.
   */
  untriedMs: 60_000,
} as const;
