/** Parts of the process that a test replaces. */
export interface TurnSources {
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  /** Runs `run` in a later turn of the event loop, after what is ready by then. */
  readonly nextTurn: (run: () => void) => void;
}

const processSources: TurnSources = {
  elapsed: () => performance.now(),
  nextTurn: (run) => void setImmediate(run),
};

/**
 * Spreads many short pieces of work over turns of the event loop: without it, ten bodies that arrive together would all be read
 * in one turn. The returned function does its work at once while this turn has some of its budget left, and otherwise in a
 * later turn, first come first served.
 */
export function createTurnShare(options: {
  readonly budgetMs: number;
  readonly sources?: TurnSources;
}): <Result>(work: () => Result) => Result | Promise<Result> {
  const { elapsed, nextTurn } = options.sources ?? processSources;
  const waiting: (() => void)[] = [];
  let spentMs = 0;
  let isNextAsked = false;

  function timed<Result>(work: () => Result): Result {
    const began = elapsed();
    if (!isNextAsked) {
      isNextAsked = true;
      nextTurn(begin);
    }
    try {
      return work();
    } finally {
      spentMs += elapsed() - began;
    }
  }

  function begin(): void {
    isNextAsked = false;
    spentMs = 0;
    while (spentMs < options.budgetMs) {
      const next = waiting.shift();
      if (next === undefined) return;
      next();
    }
  }

  return (work) => {
    if (waiting.length === 0 && spentMs < options.budgetMs) return timed(work);
    return new Promise((resolve, reject) => {
      waiting.push(() => {
        try {
          resolve(timed(work));
        } catch (error) {
          reject(error);
        }
      });
    });
  };
}
