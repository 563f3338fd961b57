import { type Bar, commandOf, isMet, type MemoryReading, rounded } from './bars.ts';
import { type BarsFile, limitText, withUnit } from './bars-file.ts';
import { alignTable, titles } from './table.ts';

/** The bars that were measured. `chosen`: by name. */
export function barsText({ figures }: BarsFile, chosen: readonly Bar[]): string {
  const targets = (['plain', 'bare', 'peer', 'before'] as const).filter((name) =>
    Object.values(figures).some((of) => of[name] !== undefined),
  );
  return alignTable([
    ['bars', 'bar', ...targets.map((name) => titles[name]), 'Weir', 'min', 'max', '', 'alone'],
    ...chosen.map((bar) => {
      const of = figures[bar.name] ?? {};
      const text = (value: number | undefined): string => (value === undefined ? '–' : withUnit(value, bar.unit));
      const { weir } = of;
      const verdict = weir === undefined ? '–' : isMet(bar, weir.median) ? 'met' : 'MISSED';
      return [
        ...[bar.title, limitText(bar), ...targets.map((name) => text(of[name]?.median)), text(weir?.median)],
        ...[text(weir?.min), text(weir?.max), verdict, commandOf(bar)],
      ];
    }),
  ]);
}

/** Memory of all programs of each gateway. */
export function memoryText(memory: readonly MemoryReading[]): string {
  const whens = ['idle', 'loaded', 'streams'] as const;
  const rows = [...Map.groupBy(memory, ({ target }) => target)].map(([target, own]) => [
    titles[target],
    ...whens.map((when) => {
      const bytes = own.find((one) => one.when === when)?.pssBytes;
      return bytes === undefined ? '–' : withUnit(rounded(bytes / 2 ** 20), 'MiB');
    }),
  ]);
  return alignTable([['memory of all programs (PSS)', 'idle', 'after the loads', '500 open streams'], ...rows]);
}
