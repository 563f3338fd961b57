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
