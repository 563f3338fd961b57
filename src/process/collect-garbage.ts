import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

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
