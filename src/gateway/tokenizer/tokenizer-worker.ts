/**
 * Counts tokens in a thread of its own. Counts take turns of a few milliseconds, so that a long one does not hold up the
 * short ones behind it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Prompt, PromptCount, PromptCountOptions, TokenizerLoad, TokenizerProblem } from '../../core/prompt.ts';
import { BrokenTokenizer } from './tokenizer-folder.ts';
import { countInSteps } from './count-prompt.ts';
import { createTokenizerCache } from './loaded-tokenizer.ts';
import { createRememberedCounts } from './remembered-counts.ts';
import { type Counting, countUntil } from './text-counter.ts';

const turnMs = 5;

/** `allowanceMs`: most time one count may take, without the time of others in between. */
export function createFunctions({ root, allowanceMs }: { readonly root: string; readonly allowanceMs: number }) {
  const cache = createTokenizerCache({ root, now: Date.now });
  const remembered = createRememberedCounts({ elapsed: () => performance.now() });

  /** Counts in turns. Undefined: the allowance is used up. */
  async function inTurns<Count>(counting: Counting<Count>): Promise<Count | undefined> {
    for (let usedMs = 0; ;) {
      await nextTurn();
      const began = performance.now();
      const count = countUntil(counting, () => performance.now() - began >= turnMs);
      usedMs += performance.now() - began;
      if (count !== undefined || usedMs >= allowanceMs) return count;
    }
  }

  return {
    load: async (path: string, use: 'chats' | 'texts' = 'chats'): Promise<TokenizerLoad> => {
      try {
        const { bounds, render } = await cache.get(path);
        if (use === 'chats' && typeof render !== 'function') return { kind: 'broken', problem: render.problem };
        return { kind: 'loaded', bounds };
      } catch (error) {
        return { kind: 'broken', problem: problemOf(error, path) };
      }
    },
    countPrompt: async (path: string, prompt: Prompt, options: PromptCountOptions): Promise<PromptCount> => {
      const tokenizer = await cache.get(path).catch(() => undefined);
      if (tokenizer === undefined) return { kind: 'unknown', reason: 'tokenizer' };
      const known = options.scope === undefined ? undefined : remembered.within(path, options.scope);
      return (await inTurns(countInSteps(tokenizer, prompt, options, known))) ?? { kind: 'unknown', reason: 'time' };
    },
    countText: async (path: string, text: string): Promise<number | undefined> => {
      const tokenizer = await cache.get(path).catch(() => undefined);
      if (typeof tokenizer?.render !== 'function') return undefined;
      const count = await inTurns(tokenizer.counter.count(text, Number.POSITIVE_INFINITY));
      return count?.kind === 'counted' ? count.tokens : undefined;
    },
  };
}

function problemOf(error: unknown, path: string): TokenizerProblem {
  if (error instanceof BrokenTokenizer) return error.problem;
  return { file: path, field: '', message: 'cannot be loaded' };
}
