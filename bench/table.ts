import type { Comparison } from './changes.ts';
import type { Cost, Figure, Spread } from './figures.ts';
import type { MemoryFigures } from './memory.ts';
import type { ScenarioProfile } from './profile-run.ts';
import type { Shares } from './target.ts';

/** Lines up cells; the first column to the left, the others to the right. */
export function alignTable(rows: readonly (readonly string[])[]): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export function figureTable(figures: readonly Figure[]): string {
  return alignTable([
    ['median of the rounds', 'plain Envoy', 'Weir', 'Weir : plain', 'min', 'max'],
    ...figures.map((figure) => {
      const sign = figure.comparison === 'ratio' ? '' : '+';
      const print = (value: number | undefined): string =>
        value === undefined
          ? '–'
          : `${value < 0 ? '' : sign}${value.toFixed(2)}${figure.comparison === 'ratio' ? '' : ' ms'}`;
      return [
        figure.name,
        amount(figure.plain, figure.unit),
        amount(figure.weir, figure.unit),
        print(figure.compared?.median),
        print(figure.compared?.min),
        print(figure.compared?.max),
      ];
    }),
  ]);
}

export const titles: Readonly<Record<Comparison['now'], string>> = {
  direct: 'mock engine',
  plain: 'plain Envoy',
  bare: 'bare path',
  peer: 'peer',
  before: 'before',
  weir: 'now',
  sampled: 'traced, 1 in 100',
  traced: 'traced, all',
  events: 'with events',
  token: 'with a token',
};

export function comparisonTable({ before: one, now: other, changes }: Comparison): string {
  const [first, second] = [titles[one], titles[other]];
  return alignTable([
    ['median of the rounds', first, second, `${second} : ${first}`, 'min', 'max'],
    ...changes.map(({ name, unit, before, now, compared, comparison }) => {
      const print = (value: number | undefined): string => {
        if (value === undefined) return '–';
        return comparison === 'ratio' ? value.toFixed(2) : `${value < 0 ? '' : '+'}${value.toFixed(2)} ms`;
      };
      const spread = [compared?.median, compared?.min, compared?.max].map(print);
      return [name, amount(before, unit), amount(now, unit), ...spread];
    }),
  ]);
}

export function costTable(costs: readonly Cost[]): string {
  return alignTable([
    ['processor time', 'service', "Weir's Envoy", 'plain Envoy', 'bench itself'],
    ...costs.map((cost) => [
      cost.name,
      ...[cost.service, cost.envoy, cost.plain, cost.bench].map((spread) => amount(spread, ` ${cost.unit}`, 2)),
    ]),
  ]);
}

export function memoryTable(memories: readonly MemoryFigures[]): string {
  const pair = <Value>(shares: Shares<Value>, print: (value: Value) => string): readonly string[] =>
    [shares.service, shares.envoy].map((value) => (value === undefined ? '–' : print(value)));
  const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  return alignTable([
    ['memory (PSS)', 'service', 'Envoy'],
    ...memories.flatMap((memory) => [
      [`${memory.target}, idle`, ...pair(memory.idle, (use) => mib(use.pssBytes))],
      [`${memory.target}, ${memory.streams} open streams`, ...pair(memory.withStreams, (use) => mib(use.pssBytes))],
      [
        `${memory.target}, per open stream`,
        ...pair(memory.bytesPerStream, (bytes) => `${(bytes / 1024).toFixed(1)} KiB`),
      ],
    ]),
  ]);
}

export function profileText({ scenario, sample, threads }: ScenarioProfile): string {
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  const rate = `${Math.round(sample.answersPerSecond)} answers/s with the profiler on`;
  const [busiest, ...others] = threads;
  if (busiest === undefined) return `${scenario.title}: no thread was profiled`;
  return [
    `${scenario.title}: ${rate}; busiest thread ${percent(busiest.summary.busy)} busy`,
    alignTable([
      ['self time by function', 'share', ''],
      ...busiest.summary.lines.map((line) => [line.name, percent(line.share), line.place]),
    ]),
    alignTable([
      ['self time by part', 'share'],
      ...busiest.summary.parts.map((part) => [part.part, percent(part.share)]),
    ]),
    ...others.map((other) => `other thread ${other.pid}-${other.thread}: ${percent(other.summary.busy)} busy`),
  ].join('\n\n');
}

function amount(spread: Spread | undefined, unit: string, digits?: number): string {
  if (spread === undefined) return '–';
  const value = spread.median;
  return `${value.toFixed(digits ?? (Math.abs(value) < 100 ? 2 : 0))}${unit === 'ms' ? ' ms' : unit}`;
}
