import { createHmac, hash } from 'node:crypto';
import { numberOfDigits } from '../../core/digests.ts';
import type { BlockKey, PoolPrompt, PromptBlocks } from '../../../core/pool-prompt.ts';

/**
 * Blocks are finer at the start, where prompts part most often, and coarser far behind it, because each digest has a price of its own:
 * up to so many characters, blocks have this length.
 */
const sizes = [
  { until: 1024, size: 256 },
  { until: 16 * 1024, size: 1024 },
  { until: 64 * 1024, size: 2048 },
  { until: Infinity, size: 4096 },
] as const;

/** Divides a prompt's text into blocks, in one pass. The end of the text is part of no block until it fills one. */
export function promptBlocks(text: string, { secret, scope }: BlockKey): PromptBlocks {
  const digests: number[] = [];
  const ends: number[] = [];
  let parent = createHmac('sha256', secret).update(scope).digest('hex');
  let at = 0;
  for (const { until, size } of sizes) {
    for (; at < until && at + size <= text.length; at += size) {
      parent = hash('sha256', parent + text.slice(at, at + size));
      digests.push(numberOfDigits(parent));
      ends.push(at + size);
    }
    if (at < until) break;
  }
  return { digests, ends, length: text.length };
}

/** Measures the blocks in tokens, as if each character had the same share of the prompt's tokens. */
export function poolPromptOf({ digests, ends, length }: PromptBlocks, tokens: number): PoolPrompt {
  return { digests, ends: ends.map((end) => Math.floor((end / length) * tokens)), tokens };
}
