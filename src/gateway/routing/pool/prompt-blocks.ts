import { createHmac, hash } from 'node:crypto';
import { numberOfDigits } from '../../core/digests.ts';
import { blockEnds } from '../../core/prompt-text.ts';
import type { BlockContents, BlockKey, PoolPrompt, PromptBlocks } from '../../../core/pool-prompt.ts';

/** Hexadecimal digits of a SHA-256. */
const digestLength = 64;

/** Chains the contents of a prompt's blocks, with a key at the start. */
export function promptBlocks({ digests: contents, length }: BlockContents, { secret, scope }: BlockKey): PromptBlocks {
  let parent = createHmac('sha256', secret).update(scope).digest('hex');
  const ends = blockEnds(length);
  const digests = ends.map((_, block) => {
    parent = hash('sha256', parent + contents.slice(block * digestLength, (block + 1) * digestLength));
    return numberOfDigits(parent);
  });
  return { digests, ends, length };
}

/** Measures the blocks in tokens, as if each character had the same share of the prompt's tokens. */
export function poolPromptOf({ digests, ends, length }: PromptBlocks, tokens: number): PoolPrompt {
  return { digests, ends: ends.map((end) => Math.floor((end / length) * tokens)), tokens };
}
