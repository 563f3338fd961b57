interface Remembered<Result> {
  readonly dependencies: readonly unknown[];
  readonly result: Result;
}

/**
 * Remembers the last result per subject, as long as its dependencies are the same objects. After every change, a
 * catalog of thousands of objects is compiled again, although nearly all objects are unchanged. Without this memory,
 * each change would hold up all requests.
 */
export function createRemembered<Subject extends WeakKey, Result>(): (
  subject: Subject,
  dependencies: readonly unknown[],
  make: () => Result,
) => Result {
  const known = new WeakMap<Subject, Remembered<Result>>();
  return (subject, dependencies, make) => {
    const before = known.get(subject);
    if (before !== undefined && isSame(before.dependencies, dependencies)) return before.result;
    const result = make();
    known.set(subject, { dependencies, result });
    return result;
  };
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
