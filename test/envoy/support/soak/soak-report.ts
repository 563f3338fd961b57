import { alignTable } from '../../../../bench/table.ts';
import { type Growth, growthOf, type Verdict, verdictOf } from './growth.ts';
import { type Figure, figures, type Reading } from './readings.ts';
import type { SoakCycle } from './soak-run.ts';

/** How one figure of one process went. */
export interface Finding {
  readonly of: string;
  readonly figure: Reading['figure'];
  readonly growth: Growth | undefined;
  /** `unmeasured`: there were too few readings. */
  readonly verdict: Verdict | 'unmeasured';
}

/** In this share of the time code is compiled, pools are filled and caches grow to their size. */
const warmUpShare = 0.25;

/** How old what `of` names is in each cycle, in cycles; all 0 of what was never replaced after the warm-up. */
function agesOf(cycles: readonly SoakCycle[], of: string): readonly number[] {
  if (!cycles.some(({ replaced }) => replaced.includes(of))) return cycles.map(() => 0);
  let age = cycles.length;
  return cycles.map(({ replaced }) => (age = replaced.includes(of) ? 0 : age + 1));
}

/** What became of each figure after the warm-up. */
export function findingsOf(all: readonly SoakCycle[]): readonly Finding[] {
  const end = all.at(-1)?.at ?? 0;
  const cycles = all.filter(({ at }) => at >= warmUpShare * end);
  const [first] = cycles;
  return (first?.readings ?? []).map(({ of, figure }) => {
    const ages = agesOf(cycles, of);
    const readings = cycles.flatMap(({ at, readings: inCycle }, index) => {
      const value = inCycle.find((reading) => reading.of === of && reading.figure === figure)?.value;
      const machine = inCycle.find((reading) => reading.figure === 'without the gateway')?.value;
      return value === undefined || machine === undefined ? [] : [{ at, value, machine, stratum: ages[index] ?? 0 }];
    });
    const growth = growthOf(readings);
    if (growth === undefined) return { of, figure, growth, verdict: 'unmeasured' };
    const bound: Figure = figures[figure];
    const verdict = verdictOf(growth, bound);
    if (verdict !== 'grew' || bound.unit !== 'ms') return { of, figure, growth, verdict };
    // What other programs do to the machine, they do to the question that does not go through the gateway, too.
    const beside = growthOf(readings.map(({ value, machine, ...reading }) => ({ ...reading, value: value / machine })));
    const isOurs = beside !== undefined && verdictOf(beside, { ...bound, resolution: 0 }) === 'grew';
    return { of, figure, growth, verdict: isOurs ? 'grew' : 'unclear' };
  });
}

const percent = (ratio: number): string => `${ratio < 0 ? '−' : '+'}${Math.abs(100 * ratio).toFixed(1)} %`;

function amount(value: number, unit: string): string {
  const digits = Number.isInteger(value) && unit === '' ? 0 : value < 10 ? 2 : 1;
  return `${value.toFixed(digits)}${unit === '' ? '' : ` ${unit}`}`;
}

/** A line about one cycle, and one about each of the first faults in its books. */
export function cycleReportOf({ at, stormSeconds, books, readings }: SoakCycle): string {
  const { asked, rows, wrong } = books;
  const probed = readings.find(({ figure }) => figure === 'probe p50')?.value ?? Number.NaN;
  const count = Object.values(asked).reduce((total, each) => total + each, 0);
  return [
    `minute ${at.toFixed(1)}: ${count} requests in ${stormSeconds.toFixed(0)} s, ${rows} rows, ` +
      `${wrong.length === 0 ? 'the books balance' : `${wrong.length} faults in the books`}, probe ${probed.toFixed(1)} ms`,
    ...wrong.slice(0, 20).map((fault) => `  ${fault}`),
  ].join('\n');
}

/** The table of all findings, and what the books say. */
export function reportOf(cycles: readonly SoakCycle[], findings: readonly Finding[]): string {
  const table = alignTable([
    ['', 'first fifth', 'last fifth', 'change', 'trend', 'of 99 % between', ''],
    ...findings.map(({ of, figure, growth, verdict }) => {
      const name = `${of}: ${figure}`;
      if (growth === undefined) return [name, '', '', '', '', '', verdict];
      const { first, last, change, trend } = growth;
      const { unit } = figures[figure];
      return [
        ...[name, amount(first, unit), amount(last, unit), percent(change), percent(trend.middle)],
        ...[`${percent(trend.low)} and ${percent(trend.high)}`, verdict],
      ];
    }),
  ]);
  const sum = (read: (cycle: SoakCycle) => number): number => cycles.reduce((total, cycle) => total + read(cycle), 0);
  const asked = sum(({ books }) => Object.values(books.asked).reduce((total, count) => total + count, 0));
  const told = cycles.reduce((total, { books }) => total + books.told, 0n);
  const billed = cycles.reduce((total, { books }) => total + books.billed, 0n);
  const replaced = sum((cycle) => cycle.replaced.filter((name) => name.startsWith('service')).length);
  const wrong = sum(({ books }) => books.wrong.length);
  return [
    `${cycles.length} cycles in ${(cycles.at(-1)?.at ?? 0).toFixed(1)} minutes; the first quarter is warm-up`,
    '',
    table,
    '',
    `${asked} requests of the storms, ${sum(({ books }) => books.rows)} rows; ${replaced} services killed, ` +
      `${cycles.length} outages each of PostgreSQL, of Valkey and of an endpoint`,
    `callers were told ${told}, the rows of their answers say ${billed} (10⁻¹² USD); ${wrong} faults in the books`,
  ].join('\n');
}

/** Whether nothing grew and the books balance. */
export const isSteady = (cycles: readonly SoakCycle[], findings: readonly Finding[]): boolean =>
  findings.every(({ verdict }) => verdict !== 'grew') &&
  cycles.every(({ books }) => books.wrong.length === 0 && books.told === books.billed);
