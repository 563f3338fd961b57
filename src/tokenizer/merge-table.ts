/** Looks up what two neighbouring tokens merge into. Keys and values are small integers, so no objects are made. */
export interface MergeTable {
  /** Index of the entry of a pair, -1 when the two do not merge. */
  readonly find: (left: number, right: number) => number;
  /** The earlier a merge was learnt, the lower its rank: lower ones are done first. */
  readonly rankAt: (entry: number) => number;
  readonly mergedAt: (entry: number) => number;
}

export interface Merge {
  readonly left: number;
  readonly right: number;
  readonly merged: number;
}

/** An open-addressed hash table over typed arrays, at most half full. A pair that comes twice keeps its last rank. */
export function createMergeTable(merges: readonly Merge[]): MergeTable {
  let size = 16;
  while (size < merges.length * 2) size *= 2;
  const mask = size - 1;
  const lefts = new Int32Array(size).fill(-1);
  const rights = new Int32Array(size);
  const ranks = new Int32Array(size);
  const results = new Int32Array(size);

  const slotOf = (left: number, right: number): number => {
    let hash = Math.imul(left, 0x9e37_79b1) ^ Math.imul(right, 0x85eb_ca6b);
    hash ^= hash >>> 15;
    let slot = Math.imul(hash, 0x2c1b_3c6d) & mask;
    while (lefts[slot] !== -1 && (lefts[slot] !== left || rights[slot] !== right)) slot = (slot + 1) & mask;
    return slot;
  };
  merges.forEach(({ left, right, merged }, rank) => {
    const slot = slotOf(left, right);
    lefts[slot] = left;
    rights[slot] = right;
    ranks[slot] = rank;
    results[slot] = merged;
  });

  return {
    find: (left, right) => {
      const slot = slotOf(left, right);
      return lefts[slot] === -1 ? -1 : slot;
    },
    rankAt: (entry) => ranks[entry] ?? 0,
    mergedAt: (entry) => results[entry] ?? 0,
  };
}
