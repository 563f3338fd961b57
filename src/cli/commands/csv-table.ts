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
