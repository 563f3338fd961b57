import type { MergeTable } from './merge-table.ts';

/** Up to this many symbols, looking at all of them for each merge beats keeping a queue. */
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
    // What was offered may have been merged away since: -1 marks a symbol that is part of another.
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

/**
 * Merges neighbours in `symbols[0..count)`, lowest rank first and leftmost among equals, until none merge, and returns how
 * many are left. Overwrites `symbols`. Takes O(n log n).
 */
export function mergeSymbols(symbols: Int32Array, count: number, table: MergeTable): number {
  if (count < 2) return count;
  return count <= fewSymbols ? mergeFew(symbols, count, table) : mergeMany(symbols, count, table);
}
