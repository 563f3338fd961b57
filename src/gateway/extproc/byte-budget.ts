/** Memory that several owners share up to a bound. */
export interface ByteBudget {
  /** Sets how much an owner has. False, and unchanged: all of them would have more than the bound. */
  readonly take: (owner: object, bytes: number) => boolean;
  readonly giveBack: (owner: object) => void;
  readonly taken: () => number;
}

export function createByteBudget(maxBytes: number): ByteBudget {
  const owned = new Map<object, number>();
  let taken = 0;
  return {
    take: (owner, bytes) => {
      const before = owned.get(owner) ?? 0;
      if (taken - before + bytes > maxBytes) return false;
      taken += bytes - before;
      owned.set(owner, bytes);
      return true;
    },
    giveBack: (owner) => {
      taken -= owned.get(owner) ?? 0;
      owned.delete(owner);
    },
    taken: () => taken,
  };
}
