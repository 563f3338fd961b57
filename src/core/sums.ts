/** Adds to the sum of a name. Sums of zero are deleted, since workspaces and addresses come and go. */
export function addTo<Name>(sums: Map<Name, number>, name: Name, more: number): void {
  const sum = (sums.get(name) ?? 0) + more;
  if (sum === 0) sums.delete(name);
  else sums.set(name, sum);
}
