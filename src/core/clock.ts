/** Stops a timer; calling it twice is harmless. */
export type CancelTimer = () => void;

/** The only source of time. Tests pass a fake clock and advance it by exact amounts. */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Monotonic milliseconds from an arbitrary origin, for durations. */
  readonly elapsed: () => number;
  readonly after: (delayMs: number, run: () => void) => CancelTimer;
}

/** Runs `work` at the end of this turn of the event loop, after earlier work. It must not throw. */
export type AtTurnEnd = (work: () => void) => void;

/**
 * Maps a list without blocking the event loop: item by item, in slices of a few milliseconds, with other work between
 * the slices. So the results may be computed some milliseconds apart. Rejects as soon as `map` fails; the remaining
 * items are not mapped.
 */
export type InSlices = <Item, Result>(items: Iterable<Item>, map: (item: Item) => Result) => Promise<Awaited<Result>[]>;

/** Resolves after the delay, or as soon as the signal is aborted. Never rejects. */
export function waitFor(
  delayMs: number,
  { clock, signal }: { readonly clock: Pick<Clock, 'after'>; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const finish = (): void => {
      cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(delayMs, finish);
    signal?.addEventListener('abort', finish, { once: true });
  });
}

/** The result of `work`; undefined if that takes longer than `ms`. Rejects if `work` does in that time. */
export async function within<Result>(
  ms: number,
  clock: Pick<Clock, 'after'>,
  work: Promise<Result>,
): Promise<Result | undefined> {
  const late = Promise.withResolvers<undefined>();
  const cancel = clock.after(ms, () => late.resolve(undefined));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}

/**
 * Runs a step every `ms` milliseconds, the first one after `ms`. If a step returns a promise, the next step begins `ms`
 * after the promise has settled, so that steps never overlap. A step should not throw, and its promise should not reject.
 * If it does, the error reaches the process as any other, and the next step still follows: where the process survives the
 * error, the steps go on. A function as `ms` says before each step how long it takes until then. Returns the function that ends it.
 */
export function every(
  clock: Pick<Clock, 'after'>,
  ms: number | (() => number),
  step: () => void | Promise<void>,
): CancelTimer {
  const waitMs = typeof ms === 'number' ? () => ms : ms;
  let isOver = false;
  let cancel = clock.after(waitMs(), run);
  function run(): void {
    let settled: void | Promise<void> = undefined;
    try {
      settled = step();
    } finally {
      if (settled === undefined) next();
    }
    if (settled !== undefined) void settled.finally(next);
  }
  function next(): void {
    if (!isOver) cancel = clock.after(waitMs(), run);
  }
  return () => {
    isOver = true;
    cancel();
  };
}
