/** Runs at most `maxRunning` tasks at a time. Further ones wait, and run in the order in which they came. */
export function createTaskLimit(maxRunning: number) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    waiting: (): number => waiting.length,
    /** Resolves or rejects as the task does. */
    run: async <Result>(task: () => Promise<Result>): Promise<Result> => {
      if (running < maxRunning) running += 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await task();
      } finally {
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
