/** Longest name of a field that is shown whole, characters: a caller's own keys may be of any length. */
const longestName = 64;

/** Writes a path the way an author would: `spec.routes[0].backend`, `metadata.labels["a.b/c"]`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`;
      const full = String(part);
      const name = full.length > longestName ? `${full.slice(0, longestName)}…` : full;
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return `[${JSON.stringify(name)}]`;
      return index === 0 ? name : `.${name}`;
    })
    .join('');
}
