import { stringify } from 'csv-stringify/sync';
import { printableLine } from '../../core/printable.ts';

/**
 * Arranges rows in columns for a terminal. A title that begins with "#" marks a column of numbers, which is aligned
 * right; the "#" is not shown. What a terminal would act on is escaped before the columns are measured.
 */
export function textTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const numeric = titles.map((title) => title.startsWith('#'));
  const all = [titles.map((title) => title.replace(/^#/, '')), ...rows.map((row) => row.map(printableLine))];
  const widths = titles.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all
    .map((row) =>
      widths
        .map((width, column) => {
          const cell = row[column] ?? '';
          return numeric[column] ? cell.padStart(width) : cell.padEnd(width);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

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
