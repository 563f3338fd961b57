import { describe, expect, it } from 'vitest';
import { chanceFrom } from '../../../../test/support/chance.ts';
import { createBlockNumbers } from './block-numbers.ts';

describe('the numbers of blocks', () => {
  it('are found by the digest, from one on, and none before a block is added', () => {
    const numbers = createBlockNumbers();
    expect(numbers.of(7)).toBe(0);
    expect([numbers.add(7), numbers.add(2 ** 47 + 7)]).toEqual([1, 2]);
    expect([numbers.of(7), numbers.of(2 ** 47 + 7), numbers.of(8), numbers.size()]).toEqual([1, 2, 0, 2]);
  });

  it('are given again after their blocks are removed', () => {
    const numbers = createBlockNumbers();
    for (const digest of [10, 20, 30]) numbers.add(digest);
    numbers.remove(2);
    expect([numbers.of(10), numbers.of(20), numbers.of(30), numbers.size()]).toEqual([1, 0, 3, 2]);
    expect([numbers.add(40), numbers.add(50), numbers.of(40)]).toEqual([2, 4, 2]);
  });

  it('are those of a map, whatever is added and removed, also where digests share their last bits', () => {
    const chance = chanceFrom(1);
    const numbers = createBlockNumbers();
    const known = new Map<number, number>();
    const digests = Array.from({ length: 3000 }, (_, index) => (index % 2 === 0 ? index : index * 2 ** 32));
    for (let step = 0; step < 20_000; step += 1) {
      const digest = chance.pick(digests);
      const number = known.get(digest);
      if (number === undefined) known.set(digest, numbers.add(digest));
      else {
        numbers.remove(number);
        known.delete(digest);
      }
    }
    expect(digests.map(numbers.of)).toEqual(digests.map((digest) => known.get(digest) ?? 0));
    expect(numbers.size()).toBe(known.size);
    expect(new Set(known.values()).size).toBe(known.size);
  });
});
