import { describe, expect, it } from 'vitest';
import type { BlockKey } from '../../../core/pool-prompt.ts';
import { blockContents } from '../../core/prompt-text.ts';
import { promptBlocks as chain } from './prompt-blocks.ts';

const key = { secret: 'secret', scope: 'workspace-one' };
const promptBlocks = (text: string, by: BlockKey) => chain(blockContents(text), by);
const text = Array.from({ length: 20_000 }, (_, index) => `word ${index * 7919}`).join(' ');

/** How many characters two texts share, as their blocks show it. */
function shared(a: string, b: string, other = key): number {
  const [one, two] = [promptBlocks(a, key), promptBlocks(b, other)];
  const count = one.digests.findIndex((digest, index) => digest !== two.digests[index]);
  return one.ends[(count < 0 ? one.digests.length : count) - 1] ?? 0;
}

describe('the blocks of a prompt', () => {
  it.each([300, 1000, 5000, 30_000, 100_000])('show a common beginning of %d characters within a block', (length) => {
    const found = shared(text, `${text.slice(0, length)}#${text.slice(length + 1)}`);
    expect(found).toBeLessThanOrEqual(length);
    expect(found).toBeGreaterThan(
      length - (length < 1024 ? 257 : length < 16_384 ? 1025 : length < 65_536 ? 2049 : 4097),
    );
  });

  it('are those of its beginning, when a prompt grows', () => {
    const short = promptBlocks(text.slice(0, 50_000), key);
    const long = promptBlocks(text, key);
    expect(long.digests.slice(0, short.digests.length)).toEqual(short.digests);
    expect(long.ends.slice(0, short.ends.length)).toEqual(short.ends);
    expect(short.length).toBe(50_000);
  });

  it('do not match behind a difference, although the text does', () => {
    expect(shared(text, `#${text.slice(1)}`)).toBe(0);
  });

  it('are none of another workspace, and none without the secret', () => {
    expect(shared(text, text, { ...key, scope: 'workspace-two' })).toBe(0);
    expect(shared(text, text, { ...key, secret: 'another' })).toBe(0);
    expect(shared(text, text, { ...key })).toBeGreaterThan(text.length - 4097);
  });

  it('end with the last one that the text fills', () => {
    expect(promptBlocks('short', key).digests).toEqual([]);
    expect(promptBlocks(text.slice(0, 256), key).ends).toEqual([256]);
    expect(promptBlocks(text.slice(0, 2047), key).ends).toEqual([256, 512, 768, 1024]);
    expect(promptBlocks(text.slice(0, 2048), key).ends.at(-1)).toBe(2048);
    expect(promptBlocks(text.slice(0, 18_432), key).ends.at(-1)).toBe(18_432);
  });
});
