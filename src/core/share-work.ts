/** Shares work in progress: all who ask for the same key while the work runs get one result. */
export function shareWork<Key, Result>(work: (key: Key) => Promise<Result>): (key: Key) => Promise<Result> {
  const running = new Map<Key, Promise<Result>>();
  return (key) => {
    const found = running.get(key) ?? work(key).finally(() => void running.delete(key));
    running.set(key, found);
    return found;
  };
}
