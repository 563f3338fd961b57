/** What was measured of a model lately, as the catalog publishes it. docs/reference/api.md §2.1. */
export interface PerformanceFigure {
  /** Median of delivered output tokens per second. */
  readonly tokensPerSecondP50: number;
  /** Median time to first token of streams; absent when too few were measured. */
  readonly firstTokenMsP50?: number;
  /** The newest measurement in it, Unix seconds. */
  readonly asOf: number;
}

/** How a model stands now: what the catalog's list and the operators' metrics show of it beyond its own fields. */
export interface Standing {
  /** Whether the list has it: servable at its service level. A model that is not listed stays callable. */
  readonly listed: boolean;
  /** Share of its requests that were served, over its window; absent while there are too few to tell. */
  readonly availability?: number;
  /** Absent when nothing fresh was measured. */
  readonly figure?: PerformanceFigure;
}
