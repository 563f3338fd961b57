/** Lays rows out in columns for a terminal. A title that begins with "#", which is not shown, is that of numbers, set flush right. */
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

/** Lays rows out as CSV (RFC 4180), without the line break at the end. */
export function csvTable(
  titles: readonly string[],
  rows: readonly (readonly (string | number | boolean | null)[])[],
): string {
  return [titles, ...rows].map((row) => row.map(cell).join(',')).join('\r\n');
}

function cell(value: string | number | boolean | null): string {
  const text = value === null ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
