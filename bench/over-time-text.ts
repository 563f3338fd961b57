import { type Spread, spreadOf } from './figures.ts';
import { stallMs } from './loop-watch.ts';
import type { FirstByteSecond, MemoryByProcess, OverTime } from './over-time.ts';
import { groupStalls } from './stalls.ts';
import { alignTable } from './table.ts';

const shownStalls = 20;
const ms = (value: number): string => `${value.toFixed(1)} ms`;
const mib = (bytes: number | undefined): string => (bytes === undefined ? '–' : `${(bytes / 2 ** 20).toFixed(0)} MiB`);

/** The run as tables. */
export function overTimeText(run: OverTime): string {
  return [secondsTable(run), memoryTable(run), ...stallTables(run)].join('\n\n');
}

function secondsTable({ firstBytes, seconds }: OverTime): string {
  const row = (name: string, spread: Spread | undefined): readonly string[] =>
    spread === undefined ? [name, '–', '–', '–'] : [name, ms(spread.median), ms(spread.min), ms(spread.max)];
  const of = (target: FirstByteSecond['target'], read: (one: FirstByteSecond) => number): Spread | undefined =>
    spreadOf(firstBytes.filter((one) => one.target === target).map(read));
  return alignTable([
    ['of the seconds', 'median', 'min', 'max'],
    row(
      'Weir, first byte p50',
      of('weir', (one) => one.p50Ms),
    ),
    row(
      'Weir, first byte p99',
      of('weir', (one) => one.p99Ms),
    ),
    row(
      'plain Envoy, first byte p50',
      of('plain', (one) => one.p50Ms),
    ),
    row(
      'plain Envoy, first byte p99',
      of('plain', (one) => one.p99Ms),
    ),
    row('event loop, longest delay', spreadOf(seconds.map((one) => one.delayMs))),
    row('garbage collection, all pauses', spreadOf(seconds.map((one) => one.collectionMs))),
    row('garbage collection, longest pause', spreadOf(seconds.map((one) => one.longestCollectionMs))),
  ]);
}

function memoryTable({ streams, idle, seconds }: OverTime): string {
  const [first, last] = [seconds[0]?.memory, seconds.at(-1)?.memory];
  const row = (name: string, process: keyof MemoryByProcess): readonly string[] => {
    const [before, after] = [idle[process], last?.[process]];
    const perStream = before === undefined || after === undefined ? undefined : (after - before) / streams / 1024;
    const sizes = [before, first?.[process], after].map(mib);
    return [name, ...sizes, perStream === undefined ? '–' : `${perStream.toFixed(1)} KiB`];
  };
  return alignTable([
    ['memory (PSS)', 'before the streams', 'first second', 'last second', 'growth by a stream'],
    row('service', 'service'),
    row('portal', 'portal'),
    row('Envoy', 'envoy'),
  ]);
}

function stallTables({ stalls }: OverTime): readonly string[] {
  if (stalls.length === 0) return [`no stall over ${stallMs} ms`];
  const longest = stalls.toSorted((a, b) => b.ms - a.ms).slice(0, shownStalls);
  return [
    alignTable([
      [`stalls over ${stallMs} ms, by cause`, 'number', 'longest', 'together'],
      ...groupStalls(stalls).map(({ cause, count, maxMs, totalMs }) => [cause, String(count), ms(maxMs), ms(totalMs)]),
    ]),
    alignTable([
      ['the longest stalls', 'delay', 'no processor', 'garbage collection', 'beside', 'folder', 'function'],
      ...longest.map((one) => [
        `second ${one.second.toFixed(1)}`,
        ms(one.ms),
        ms(one.withoutProcessorMs),
        one.collectionMs === 0 ? '' : `${ms(one.collectionMs)} ${one.collections.join(', ')}`,
        one.beside.join(', '),
        one.stage ?? '',
        one.heaviest ?? '',
      ]),
    ]),
  ];
}
