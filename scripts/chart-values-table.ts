import { type ChartValue, readChartValues } from './chart-values.ts';
import { markdownTable } from './markdown-table.ts';

/** The values of the chart with their defaults, for charts/weir/README.md. */
export function chartValuesTable(): string {
  return markdownTable(['value', 'default', 'meaning'], readChartValues().flatMap(rows));
}

function rows({ path, description, initial, inner }: ChartValue): readonly (readonly string[])[] {
  const name = `\`${path.join('.')}\``;
  if (inner === undefined) return [[name, code(initial), description]];
  const heading = description === '' ? [] : [[`**${name}**`, '', description]];
  return [...heading, ...inner.flatMap(rows)];
}

function code(value: unknown): string {
  return value === '' ? '' : `\`${JSON.stringify(value)}\``;
}
