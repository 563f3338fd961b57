export interface TokenMerge {
  readonly left: number;
  readonly right: number;
  readonly merged: number;
}

/**
 * Merges neighbours in `symbols[0..count)`, lowest rank first and leftmost among equals, until none merge, and returns how
 * many are left. Overwrites `symbols`. Takes O(n log n).
 */
export function mergeSymbols(symbols: Int32Array, count: number, table: MergeTable): number {
  if (count < 2) return count;
  return count <= fewSymbols ? mergeFew(symbols, count, table) : mergeMany(symbols, count, table);
}

/** Looks up what two neighbouring tokens merge into. Keys and values are small integers, so no objects are made. */
type MergeTable = ReturnType<typeof createMergeTable>;

/** An open-addressed hash table over typed arrays, at most half full. A pair that comes twice keeps its last rank. */
export function createMergeTable(merges: readonly TokenMerge[]) {
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
    /** Index of the entry of a pair, -1 when the two do not merge. */
    find: (left: number, right: number): number => {
      const slot = slotOf(left, right);
      return lefts[slot] === -1 ? -1 : slot;
    },
    /** The earlier a merge was learnt, the lower its rank. Merges of a lower rank are done first. */
    rankAt: (entry: number): number => ranks[entry] ?? 0,
    mergedAt: (entry: number): number => results[entry] ?? 0,
  };
}

/** Up to this many symbols, looking at all of them for each merge is faster than keeping a queue. */
const fewSymbols = 40;

function mergeFew(symbols: Int32Array, count: number, table: MergeTable): number {
  let left = count;
  for (;;) {
    let best = -1;
    let bestRank = Number.POSITIVE_INFINITY;
    let bestEntry = -1;
    for (let at = 0; at + 1 < left; at += 1) {
      const entry = table.find(symbols[at] ?? 0, symbols[at + 1] ?? 0);
      if (entry !== -1 && table.rankAt(entry) < bestRank) {
        best = at;
        bestRank = table.rankAt(entry);
        bestEntry = entry;
      }
    }
    if (best === -1) return left;
    symbols[best] = table.mergedAt(bestEntry);
    symbols.copyWithin(best + 1, best + 2, left);
    left -= 1;
  }
}

/** A binary heap of numbers, least first. */
function createHeap(capacity: number) {
  const items = new Float64Array(capacity);
  let size = 0;
  return {
    push: (item: number): void => {
      let at = size++;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        const above = items[parent] ?? 0;
        if (above <= item) break;
        items[at] = above;
        at = parent;
      }
      items[at] = item;
    },
    pop: (): number | undefined => {
      if (size === 0) return undefined;
      const least = items[0];
      const item = items[--size] ?? 0;
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= size) break;
        if (child + 1 < size && (items[child + 1] ?? 0) < (items[child] ?? 0)) child += 1;
        const below = items[child] ?? 0;
        if (below >= item) break;
        items[at] = below;
        at = child;
      }
      items[at] = item;
      return least;
    },
  };
}

function mergeMany(symbols: Int32Array, count: number, table: MergeTable): number {
  const next = new Int32Array(count);
  const previous = new Int32Array(count);
  // Rank and place in one number: ranks first, then from left to right. Both stay below 2^26, so it is exact.
  const heap = createHeap(count * 3);
  const places = 2 ** 26;
  const offer = (at: number): void => {
    const after = next[at] ?? -1;
    if (after === -1) return;
    const entry = table.find(symbols[at] ?? 0, symbols[after] ?? 0);
    if (entry !== -1) heap.push(table.rankAt(entry) * places + at);
  };
  for (let at = 0; at < count; at += 1) {
    next[at] = at + 1 < count ? at + 1 : -1;
    previous[at] = at - 1;
  }
  for (let at = 0; at < count; at += 1) offer(at);

  let left = count;
  for (let item = heap.pop(); item !== undefined; item = heap.pop()) {
    const at = item % places;
    const after = next[at] ?? -1;
    // The symbols of a pair in the heap may have been merged since. -1 marks a symbol that is part of another.
    if (symbols[at] === -1 || after === -1) continue;
    const entry = table.find(symbols[at] ?? 0, symbols[after] ?? 0);
    if (entry === -1 || table.rankAt(entry) !== Math.floor(item / places)) continue;
    symbols[at] = table.mergedAt(entry);
    symbols[after] = -1;
    const beyond = next[after] ?? -1;
    next[at] = beyond;
    if (beyond !== -1) previous[beyond] = at;
    left -= 1;
    const before = previous[at] ?? -1;
    if (before !== -1) offer(before);
    offer(at);
  }
  return left;
}
