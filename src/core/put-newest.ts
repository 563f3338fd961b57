// Maps and sets keep the order of insertion, so the first entry is the one that was put in longest ago.

/** Puts an entry at the end of a map, and forgets the first one beyond so many entries. Returns the value that was forgotten. */
export function putNewest<Key, Value>(
  entries: Map<Key, Value>,
  max: number,
  [key, value]: readonly [Key, Value],
): Value | undefined {
  entries.delete(key);
  entries.set(key, value);
  const [oldest] = entries.size > max ? entries.values() : [];
  forgetOldest(entries, max);
  return oldest;
}

/** Forgets the first entry of a map or a set beyond so many entries. */
export function forgetOldest<Key>(entries: Map<Key, unknown> | Set<Key>, max: number): void {
  const [oldest] = entries.size > max ? entries.keys() : [];
  if (oldest !== undefined) entries.delete(oldest);
}
