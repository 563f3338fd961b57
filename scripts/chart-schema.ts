import { type ChartValue, readChartValues } from './chart-values.ts';

type Schema = Readonly<Record<string, unknown>>;

/** charts/weir/values.schema.json: Helm checks every installation against it. A value that is not there is refused. */
export function chartSchema(): string {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart weir',
    ...group(readChartValues(), { global: { type: 'object', description: 'Where the chart is part of another one.' } }),
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function group(values: readonly ChartValue[], more: Schema = {}): Schema {
  const properties = values.map((value) => [value.path.at(-1), schemaOf(value)] as const);
  return { type: 'object', additionalProperties: false, properties: { ...Object.fromEntries(properties), ...more } };
}

function schemaOf({ description, initial, schema, inner }: ChartValue): Schema {
  const said = description === '' ? {} : { description };
  if (inner !== undefined) return { ...said, ...group(inner), ...schema };
  const isStrict = 'properties' in schema;
  return {
    ...said,
    type: typeOf(initial),
    default: initial,
    ...(isStrict ? { additionalProperties: false } : {}),
    ...schema,
  };
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (Number.isInteger(value)) return 'integer';
  return typeof value;
}
