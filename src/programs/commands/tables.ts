import { stringify } from 'csv-stringify/sync';
import { printableLine } from '../../core/printable.ts';

/** `fit`: the columns that a terminal has room for. `wide`: all. */
export type TableWidth = 'fit' | 'wide';

/** A moment in a table: one that fits has the day alone. */
export const momentText = (at: number, width: TableWidth): string =>
  new Date(at).toISOString().slice(0, width === 'fit' ? 10 : undefined);

/** The title of a column that only a wide table has. */
export const wide = (title: string): string => `${title}+`;

/** Width of a terminal, of the space between two columns, and of the shortest cell that is left of a cut one. */
const maxColumns = 80;
const gap = 2;
const minCell = 8;

/**
 * Arranges rows in columns for a terminal. A title that begins with "#" marks a column of numbers, which is aligned
 * right; the "#" is not shown. What a terminal would act on is escaped before the columns are measured. Without `width`,
 * nothing is left out.
 */
export function textTable(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  width: TableWidth = 'wide',
): string {
  const shown = titles.flatMap((title, column) => (width === 'fit' && title.endsWith('+') ? [] : [column]));
  const numeric = shown.map((column) => titles[column]?.startsWith('#') === true);
  const all = [titles.map((title) => title.replace(/^#|\+$/g, '')), ...rows.map((row) => row.map(printableLine))].map(
    (row) => shown.map((column) => row[column] ?? ''),
  );
  const widths = shown.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)));
  if (width === 'fit') narrow(widths, numeric);
  return all
    .map((row) =>
      row
        .map((cell, at) => {
          const space = widths[at] ?? 0;
          const text = cut(cell, space);
          return numeric[at] ? text.padStart(space) : text.padEnd(space);
        })
        .join(' '.repeat(gap))
        .trimEnd(),
    )
    .join('\n');
}

/** Takes from the widest columns of text what is more than a terminal has. The first column names the row and stays whole. */
function narrow(widths: number[], numeric: readonly boolean[]): void {
  for (;;) {
    const over = widths.reduce((sum, width) => sum + width, gap * (widths.length - 1)) - maxColumns;
    const texts = widths.flatMap((width, at) => (at > 0 && numeric[at] === false && width > minCell ? [at] : []));
    const [widest] = texts.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
    if (over <= 0 || widest === undefined) return;
    widths[widest] = Math.max(minCell, (widths[widest] ?? 0) - 1);
  }
}

const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

type CsvValue = string | number | boolean | null;

/** Writes rows as CSV (RFC 4180), without the line break at the end. */
export function csvTable(titles: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  return csvLines([titles, ...rows]).replace(/\r\n$/, '');
}

/** Lines of CSV (RFC 4180), each with its line break. Null becomes an empty field; an empty text is quoted. */
export function csvLines(rows: readonly (readonly CsvValue[])[]): string {
  return stringify([...rows], {
    record_delimiter: 'windows',
    cast: { boolean: String },
    // By itself the library quotes a value only if it contains the whole delimiter of records, CR and LF together.
    quoted_match: /[\r\n]/,
  });
}
