import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createMergeTable, type TokenMerge, mergeSymbols } from './merge-pairs.ts';

/** Byte-pair encoding as it is defined: the lowest rank first, the leftmost among equals. */
function mergeByDefinition(symbols: readonly number[], merges: readonly TokenMerge[]): number {
  const ranks = new Map(merges.map((merge, rank) => [`${merge.left},${merge.right}`, { ...merge, rank }]));
  let left = [...symbols];
  for (;;) {
    const found = left
      .flatMap((symbol, at) => {
        const merge = ranks.get(`${symbol},${left[at + 1]}`);
        return merge === undefined ? [] : [{ ...merge, at }];
      })
      .reduce<{ readonly rank: number; readonly at: number; readonly merged: number } | undefined>(
        (best, next) => (best === undefined || next.rank < best.rank ? next : best),
        undefined,
      );
    if (found === undefined) return left.length;
    left = [...left.slice(0, found.at), found.merged, ...left.slice(found.at + 2)];
  }
}

// Tokens are words over two letters, numbered as binary after a leading one, so that no two merges make the same of others.
const join = (left: number, right: number): number => {
  const bits = right.toString(2).slice(1);
  return Number.parseInt(left.toString(2) + bits, 2);
};
const word = fc
  .array(fc.constantFrom<number[]>(2, 3), { minLength: 1, maxLength: 4 })
  .map((letters) => letters.reduce(join));
const table = fc
  .uniqueArray(fc.tuple(word, word), { selector: ([left, right]) => `${left},${right}`, maxLength: 30 })
  .map((pairs) => pairs.map(([left, right]): TokenMerge => ({ left, right, merged: join(left, right) })));

it.each([
  ['short', 2, 30],
  ['long', 41, 120],
])('merges %s words as the definition says', (_name, minLength, maxLength) => {
  fc.assert(
    fc.property(table, fc.array(fc.constantFrom(2, 3), { minLength, maxLength }), (merges, symbols) => {
      const left = mergeSymbols(Int32Array.from(symbols), symbols.length, createMergeTable(merges));
      expect(left).toBe(mergeByDefinition(symbols, merges));
    }),
    { numRuns: 500 },
  );
});

it('finds every merge of a large table and no other', () => {
  const merges = Array.from({ length: 5000 }, (_, index): TokenMerge => ({
    left: index * 7,
    right: index * 13,
    merged: index,
  }));
  const made = createMergeTable(merges);
  merges.forEach(({ left, right, merged }, rank) => {
    const entry = made.find(left, right);
    expect([made.mergedAt(entry), made.rankAt(entry)]).toEqual([merged, rank]);
    expect(made.find(left, right + 1)).toBe(-1);
  });
});
