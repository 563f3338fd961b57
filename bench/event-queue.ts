/** Something that happens in a simulation. */
export interface Event {
  /** Milliseconds of the simulation. */
  readonly at: number;
  readonly run: () => void;
}

/** A binary heap by time; of two events at one time the earlier one comes first. */
export function createEventQueue(): {
  readonly add: (at: number, run: () => void) => void;
  readonly next: () => Event | undefined;
} {
  const heap: (Event & { readonly order: number })[] = [];
  let order = 0;
  const isBefore = (a: number, b: number): boolean => {
    const [one, two] = [heap[a], heap[b]];
    if (one === undefined || two === undefined) return false;
    return one.at < two.at || (one.at === two.at && one.order < two.order);
  };
  const swap = (a: number, b: number): void => {
    const [one, two] = [heap[a], heap[b]];
    if (one === undefined || two === undefined) return;
    heap[a] = two;
    heap[b] = one;
  };
  return {
    add: (at, run) => {
      order += 1;
      heap.push({ at, run, order });
      for (let child = heap.length - 1; child > 0;) {
        const parent = (child - 1) >> 1;
        if (!isBefore(child, parent)) return;
        swap(child, parent);
        child = parent;
      }
    },
    next: () => {
      const [first] = heap;
      const last = heap.pop();
      if (first === undefined || last === undefined || heap.length === 0) return first;
      heap[0] = last;
      for (let parent = 0; ;) {
        const [left, right] = [2 * parent + 1, 2 * parent + 2];
        const child = isBefore(right, left) ? right : left;
        if (!isBefore(child, parent)) return first;
        swap(child, parent);
        parent = child;
      }
    },
  };
}
