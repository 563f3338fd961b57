import { keyedDigest } from '../keyed-digest.ts';
import { forgetOldest } from '../../../core/put-newest.ts';

const windowMs = 60_000;
/** The prompt whose first failure is oldest is forgotten first. */
const maxPrompts = 2000;

interface Failed {
  /** Time of the failure that counted, by place. */
  readonly at: Map<string, number>;
  isAnswered: boolean;
}

/**
 * Remembers prompts on which engines failed lately, and where. Callers repeat a prompt that makes engines fail, so it counts once
 * against each endpoint of a route. The memory has only times, and digests under a random key.
 */
export function createFailedPrompts(random: () => number) {
  const key = `${random()} ${random()}`;
  const prompts = new Map<string, Failed>();

  function remember(digest: string): Failed {
    const known = prompts.getOrInsertComputed(digest, () => ({ at: new Map<string, number>(), isAnswered: false }));
    forgetOldest(prompts, maxPrompts);
    return known;
  }

  return {
    /** Call it when an engine failed on a prompt. True: the prompt failed in the same place within the last minute. */
    failed: (
      now: number,
      { prompt, place }: { readonly prompt: number | undefined; readonly place: string },
    ): boolean => {
      if (prompt === undefined) return false;
      const known = remember(keyedDigest(key, prompt));
      const last = known.at.get(place);
      if (last !== undefined && now - last < windowMs) return true;
      known.at.set(place, now);
      return false;
    },
    answered: (prompt: number | undefined): void => {
      // Usually no prompt has failed, so the digest need not be computed.
      if (prompt === undefined || prompts.size === 0) return;
      const known = prompts.get(keyedDigest(key, prompt));
      if (known !== undefined) known.isAnswered = true;
    },
    /** In how many places a prompt failed within the last minute; 0 once it has been answered. */
    places: (now: number, prompt: number): number => {
      if (prompts.size === 0) return 0;
      const known = prompts.get(keyedDigest(key, prompt));
      if (known === undefined || known.isAnswered) return 0;
      return [...known.at.values()].filter((at) => now - at < windowMs).length;
    },
  };
}
