import type { Chance } from '../../support/chance.ts';
import type { LineRange } from './changed-lines.ts';

/** Lines that are drawn together. Longer changes, such as the loss of a whole function, are not in a sample: tests find most of them. */
const blockLines = 20;

/** A share of the lines of a file, drawn in blocks of 20 lines. */
export function sampledLines(lines: number, share: number, chance: Pick<Chance, 'is'>): readonly LineRange[] {
  const ranges: LineRange[] = [];
  for (let from = 1; from <= lines; from += blockLines)
    if (chance.is(share)) ranges.push([from, Math.min(from + blockLines - 1, lines)]);
  return ranges;
}
