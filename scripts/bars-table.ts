import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bar, bars, commandOf, isMet } from '../bench/bars.ts';
import { barsFileSchema, limitText, withUnit } from '../bench/bars-file.ts';

const path = join(import.meta.dirname, '..', 'bench', 'bars.json');
const { figures, machine, rounds } = barsFileSchema.parse(JSON.parse(readFileSync(path, 'utf8')));

/** What the last run has measured of a bar; undefined where it has not. */
function measured({
  name,
  source,
}: Pick<Bar, 'name' | 'source'>): Readonly<Record<'weir' | 'bare' | 'plain', number | undefined>> {
  const { weir, bare, plain } = figures[name] ?? {};
  return { weir: source.kind === 'apart' ? source.figure : weir?.median, bare: bare?.median, plain: plain?.median };
}

/** A row for each bar: the bar, the figures of plain Envoy, of the bare path and of Weir, and whether it is met. */
export function barsRows(): readonly (readonly string[])[] {
  return bars.map((bar) => {
    const { weir, bare, plain } = measured(bar);
    const text = (value: number | undefined): string => (value === undefined ? '–' : withUnit(value, bar.unit));
    const verdict = weir === undefined ? 'not measured' : isMet(bar, weir) ? 'yes' : '**no**';
    const name = bar.source.kind === 'apart' ? commandOf(bar) : bar.name;
    return [bar.title, limitText(bar), text(plain), text(bare), text(weir), verdict, `\`${name}\``];
  });
}

/** What the figures are of. */
export const barsRun = { rounds, cores: machine.cores, load: machine.loadAverage };

/** What was measured of these bars, as facts for the pages: `weir.NAME` and `plain.NAME`. */
export function barFacts(names: readonly string[]): Readonly<Record<string, number>> {
  const facts = bars
    .filter(({ name }) => names.includes(name))
    .flatMap((bar) => {
      const { weir, plain } = measured(bar);
      if (weir === undefined || plain === undefined) throw new Error(`bench/bars.json has no figure of ${bar.name}`);
      return [
        [`weir.${bar.name}`, weir],
        [`plain.${bar.name}`, plain],
      ] as const;
    });
  return Object.fromEntries(facts);
}
