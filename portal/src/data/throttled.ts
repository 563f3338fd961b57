import { useEffect, useRef } from 'react';

/**
 * Does something at once, and while it is wanted again and again, only every so many milliseconds, the last time included. Not done
 * any more once the component has gone.
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
