/** Memory that several owners share up to a bound. */
export type ByteBudget = ReturnType<typeof createByteBudget>;

export function createByteBudget(maxBytes: number) {
  const owned = new Map<object, number>();
  let taken = 0;
  return {
    /** Sets how much an owner has. False, and unchanged: all of them would have more than the bound. */
    take: (owner: object, bytes: number): boolean => {
      const before = owned.get(owner) ?? 0;
      if (taken - before + bytes > maxBytes) return false;
      taken += bytes - before;
      owned.set(owner, bytes);
      return true;
    },
    giveBack: (owner: object): void => {
      taken -= owned.get(owner) ?? 0;
      owned.delete(owner);
    },
    taken: (): number => taken,
  };
}
