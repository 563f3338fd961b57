/** Lines of a file, the first and the last one included, from 1 on. */
export type LineRange = readonly [from: number, to: number];

/**
 * The lines that a diff without context adds or changes, by file. Where lines were only removed, those are meant between which they
 * were: a change there meets what is left.
 */
export function changedLines(diff: string): ReadonlyMap<string, readonly LineRange[]> {
  const found = new Map<string, LineRange[]>();
  let ranges: LineRange[] = [];
  for (const line of diff.split('\n')) {
    const header = /^\+\+\+ (?:b\/(.+)|\/dev\/null)$/.exec(line);
    if (header !== null) {
      ranges = [];
      // A file that was removed has no lines.
      if (header[1] !== undefined) found.set(header[1], ranges);
      continue;
    }
    const [, begin, count = '1'] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    if (begin === undefined) continue;
    const [from, lines] = [Number(begin), Number(count)];
    ranges.push(lines === 0 ? [Math.max(1, from), from + 1] : [from, from + lines - 1]);
  }
  return found;
}
