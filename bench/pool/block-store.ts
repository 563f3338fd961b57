/**
 * The KV memory of a simulated engine, in blocks. Blocks that a request uses stay. The others are kept for later prompts,
 * until their place is needed: the one that was used least recently goes first, and of one prompt the end before the beginning.
 */
export interface BlockStore {
  /** How many blocks of the beginning are held. */
  readonly held: (blocks: readonly number[]) => number;
  /** Reserves memory for a request whose first `held` blocks are there. Undefined: there is no room now. */
  readonly reserve: (blocks: readonly number[], held: number) => Reservation | undefined;
}

/** The memory of one request until its end. */
export interface Reservation {
  /** So many of the blocks have been computed. Others can use them from now on. */
  readonly computed: (count: number) => void;
  readonly release: () => void;
}

export function createBlockStore(capacity: number): BlockStore {
  /** Users of each computed block. */
  const users = new Map<number, number>();
  /** Computed blocks without a user; the one used least recently first. */
  const idle = new Set<number>();
  let free = capacity;

  function held(blocks: readonly number[]): number {
    let count = 0;
    for (const block of blocks) {
      if (!users.has(block)) break;
      count += 1;
    }
    return count;
  }

  function evict(count: number): void {
    for (const block of idle) {
      if (free >= count) return;
      idle.delete(block);
      users.delete(block);
      free += 1;
    }
  }

  function use(block: number): void {
    users.set(block, (users.get(block) ?? 0) + 1);
    idle.delete(block);
  }

  function leave(block: number): void {
    const left = (users.get(block) ?? 1) - 1;
    users.set(block, left);
    if (left === 0) idle.add(block);
  }

  return {
    held,
    reserve: (blocks, count) => {
      const wanted = blocks.length - count;
      let inUse = 0;
      for (let at = 0; at < count; at += 1) if (idle.has(blocks[at] ?? -1)) inUse += 1;
      if (free + idle.size - inUse < wanted) return undefined;
      for (let at = 0; at < count; at += 1) use(blocks[at] ?? -1);
      evict(wanted);
      free -= wanted;
      const mine: number[] = blocks.slice(0, count);
      /** Blocks that another request computed at the same time, and blocks that were never computed. */
      let unshared = wanted;
      let done = count;
      return {
        computed: (to) => {
          for (; done < Math.min(to, blocks.length); done += 1) {
            const block = blocks[done] ?? -1;
            if (users.has(block)) continue;
            users.set(block, 1);
            mine.push(block);
            unshared -= 1;
          }
        },
        release: () => {
          for (const block of mine.toReversed()) leave(block);
          free += unshared;
        },
      };
    },
  };
}
