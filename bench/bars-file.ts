import { z } from 'zod';
import { type Bar, bars, figureOf, type Readings, rounded } from './bars.ts';
import type { Spread } from './figures.ts';
import { type TargetName, targetNames } from './target.ts';

const spreadSchema = z.object({ median: z.number(), min: z.number(), max: z.number() });
const targetFigures = z.partialRecord(z.enum(targetNames), spreadSchema);

/** What docs need of a run: `bench/bars.json`. */
export const barsFileSchema = z.object({
  machine: z.object({
    cores: z.number(),
    processor: z.string().optional(),
    platform: z.string(),
    node: z.string(),
    /** Of the minute before the run: what other programs did. */
    loadAverage: z.number(),
  }),
  rounds: z.number(),
  /** By bar and target. */
  figures: z.record(z.string(), targetFigures),
});

export type BarsFile = z.infer<typeof barsFileSchema>;

export function barsFile(readings: Readings, { machine, rounds }: Pick<BarsFile, 'machine' | 'rounds'>): BarsFile {
  const names = targetsOf(readings);
  const figures = bars.map((bar) => {
    const spreads = names.flatMap((name) => {
      const spread = figureOf(bar, name, readings);
      return spread === undefined ? [] : [[name, roundedSpread(spread)] as const];
    });
    return [bar.name, Object.fromEntries(spreads)] as const;
  });
  return { machine, rounds, figures: Object.fromEntries(figures) };
}

function targetsOf({ samples, memory }: Readings): readonly TargetName[] {
  return [...new Set([...samples, ...memory].map(({ target }) => target))];
}

function roundedSpread({ median, min, max }: Spread): Spread {
  return { median: rounded(median), min: rounded(min), max: rounded(max) };
}

export const limitText = ({ limit, unit }: Pick<Bar, 'limit' | 'unit'>): string =>
  'atMost' in limit ? `≤ ${withUnit(limit.atMost, unit)}` : `≥ ${withUnit(limit.atLeast, unit)}`;

export const withUnit = (value: number, unit: Bar['unit']): string =>
  `${value.toLocaleString('en-US')}${unit === '' || unit === '/s' ? unit : ` ${unit}`}`;
