import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { CancelTimer } from '../core/clock.ts';
import { backgroundClock } from './clock.ts';

/** `last-resort` also gives memory back to the system that V8 would keep for new objects. */
export type CollectGarbage = (how: { readonly type: 'major'; readonly flavor?: 'regular' | 'last-resort' }) => void;

/**
 * V8's own collection of the whole heap. V8 provides it only in a context that is made while the flag is set, and that
 * context takes memory as long as the function is kept.
 */
export function findCollector(): CollectGarbage {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function' ? (how) => void found(how) : () => undefined;
}

const collectAfterMs = 2_000;

/**
 * Collects the garbage of the start, 30 MiB that a program without load would keep. A program with load collects it anyway. The
 * collection takes 0.2 s of processor time, which the other programs of a start need, and nothing else runs for 0.1 s. So it waits until
 * the start is over. Returns the function that cancels it.
 */
export function collectOnceStarted(isIdle: () => boolean = () => true): CancelTimer {
  return backgroundClock.after(collectAfterMs, () => {
    if (isIdle()) findCollector()({ type: 'major', flavor: 'last-resort' });
  });
}
