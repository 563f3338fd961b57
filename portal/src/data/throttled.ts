import { useEffect, useRef } from 'react';

/**
 * Runs an action at once. If it is called repeatedly, the action runs at most once in the given milliseconds. The last
 * call is never lost. Nothing runs after the component was removed.
 */
export function useThrottled(everyMs: number, run: () => void): () => void {
  const latest = useRef(run);
  const state = useRef<{ timer: ReturnType<typeof setTimeout> | undefined; isWanted: boolean }>(undefined);
  state.current ??= { timer: undefined, isWanted: false };
  const throttle = state.current;
  useEffect(() => {
    latest.current = run;
  });
  useEffect(() => () => clearTimeout(throttle.timer), [throttle]);
  function begin(): void {
    latest.current();
    throttle.isWanted = false;
    throttle.timer = setTimeout(() => {
      throttle.timer = undefined;
      if (throttle.isWanted) begin();
    }, everyMs);
  }
  return () => {
    if (throttle.timer === undefined) begin();
    else throttle.isWanted = true;
  };
}
