/**
 * Gives each block of an endpoint a number, so that arrays hold what is known of it. The number of a block that is removed is given to
 * the next one. A pick looks blocks up at every endpoint. A `Map` takes more than twice as long for it, because a
 * digest is larger than the integers for which it is fast.
 */
export type BlockNumbers = ReturnType<typeof createBlockNumbers>;

/** A power of two. */
const firstBuckets = 256;

export function createBlockNumbers() {
  /** The digest of each number. */
  const digests = [-1];
  /** The next number in the same bucket, or the next one without a block. */
  const next = [0];
  /** Digests are random, so that their last bits spread them over the buckets. */
  let buckets = new Int32Array(firstBuckets);
  let free = 0;
  let size = 0;

  const bucketOf = (digest: number): number => digest & (buckets.length - 1);

  function insert(number: number, digest: number): void {
    const bucket = bucketOf(digest);
    next[number] = buckets[bucket] ?? 0;
    buckets[bucket] = number;
  }

  function grow(): void {
    const before = buckets;
    buckets = new Int32Array(before.length * 2);
    for (const first of before) {
      for (let number = first; number !== 0;) {
        const after = next[number] ?? 0;
        insert(number, digests[number] ?? -1);
        number = after;
      }
    }
  }

  return {
    /** 0: the block has no number. */
    of: (digest: number): number => {
      let number = buckets[bucketOf(digest)] ?? 0;
      while (number !== 0 && digests[number] !== digest) number = next[number] ?? 0;
      return number;
    },
    /** The number of a block that has none yet: 1 or more. */
    add: (digest: number): number => {
      if (size * 2 >= buckets.length) grow();
      const number = free === 0 ? digests.length : free;
      if (free !== 0) free = next[free] ?? 0;
      digests[number] = digest;
      insert(number, digest);
      size += 1;
      return number;
    },
    /** Takes the number away from its block. */
    remove: (number: number): void => {
      const after = next[number] ?? 0;
      const bucket = bucketOf(digests[number] ?? -1);
      if (buckets[bucket] === number) buckets[bucket] = after;
      else {
        let before = buckets[bucket] ?? 0;
        while (before !== 0 && next[before] !== number) before = next[before] ?? 0;
        next[before] = after;
      }
      next[number] = free;
      free = number;
      size -= 1;
    },
    size: (): number => size,
  };
}
