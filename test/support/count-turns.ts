/** Counts turns of the event loop from now on, until it is stopped. */
export interface TurnCount {
  /** Turns so far. */
  readonly turns: () => number;
  readonly stop: () => void;
}

export function countTurns(): TurnCount {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  return {
    turns: () => turns,
    stop: () => {
      isOver = true;
    },
  };
}
