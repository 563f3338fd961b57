import { stringify } from 'csv-stringify/sync';

/**
 * Arranges rows in columns for a terminal. A title that begins with "#" marks a column of numbers, which is aligned
 * right; the "#" is not shown.
 */
export function textTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const numeric = titles.map((title) => title.startsWith('#'));
  const all = [titles.map((title) => title.replace(/^#/, '')), ...rows];
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

/** Lines of CSV (RFC 4180), each with its line break. Null is empty, which is not the quoted empty text. */
export function csvLines(rows: readonly (readonly CsvValue[])[]): string {
  return stringify([...rows], {
    record_delimiter: 'windows',
    cast: { boolean: String },
    // The library quotes a value with the delimiter of records, which is both characters together.
    quoted_match: /[\r\n]/,
  });
}
