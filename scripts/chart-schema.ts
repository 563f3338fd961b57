import { type ChartValue, readChartValues } from './chart-values.ts';
import kubernetesTypes from './kubernetes-types.json' with { type: 'json' };

type Schema = Readonly<Record<string, unknown>>;

/** charts/weir/values.schema.json: Helm checks every installation against it. A name that is not there is refused, at every level. */
export function chartSchema(): string {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart weir',
    ...group(readChartValues(), {
      // What Helm, and charts that have this one as a part, put beside the values.
      global: { type: 'object', description: 'Where the chart is part of another one.', additionalProperties: true },
      enabled: {
        type: ['boolean', 'null'],
        description: 'For the `condition` of a chart that has this one as a part. This chart itself ignores it.',
      },
      tags: { type: 'object', description: 'For the `tags` of such a chart.', additionalProperties: true },
      exports: { type: 'object', description: 'For the `import-values` of such a chart.', additionalProperties: true },
    }),
    definitions: definitions(),
  };
  return `${JSON.stringify(closed(schema), undefined, 2)}\n`;
}

function group(values: readonly ChartValue[], more: Schema = {}): Schema {
  const properties = values.map((value) => [value.path.at(-1), schemaOf(value)] as const);
  return { type: 'object', properties: { ...Object.fromEntries(properties), ...more } };
}

function schemaOf({ description, initial, schema, inner }: ChartValue): Schema {
  const said = description === '' ? {} : { description };
  if (inner !== undefined) return { ...said, ...group(inner), ...schema };
  // Beside a reference draft 7 reads nothing: these are for readers.
  if ('$ref' in schema) return { ...said, default: initial, ...schema };
  return { ...said, type: typeOf(initial), default: initial, ...schema };
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (Number.isInteger(value)) return 'integer';
  return typeof value;
}

/**
 * Types of Kubernetes that values refer to (test/kube/chart-types.test.ts takes them from an API server), and what the chart
 * makes of them.
 */
function definitions(): Schema {
  const { name: _, ...sources } = kubernetesTypes.Volume.properties;
  return {
    ...Object.fromEntries(Object.entries(kubernetesTypes).map(([name, type]) => [name, orNull(type)])),
    // The chart names it.
    VolumeSource: orNull({ type: 'object', properties: sources }),
    // Of the Gateway API, which the API server does not have by itself.
    ParentReference: {
      type: 'object',
      properties: {
        ...Object.fromEntries(
          ['group', 'kind', 'namespace', 'name', 'sectionName'].map((field) => [field, { type: 'string' }]),
        ),
        port: { type: 'integer' },
      },
      required: ['name'],
    },
  };
}

/** The same schema, in which every value may be null, as operators write it to take a default away. */
function orNull(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(orNull);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, orNull(value)]));
  const types = typesOf(inner);
  return types.length === 0 ? inner : { ...inner, type: [...types, 'null'] };
}

function typesOf(schema: Schema): readonly unknown[] {
  return [schema['type']].flat().filter((type) => typeof type === 'string');
}

/** The same schema, in which no object takes a name that it does not have. Helm then says which names there are. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(
    // A default is a value.
    Object.entries(schema).map(([key, value]) => [key, key === 'default' ? value : closed(value)]),
  );
  const { properties } = inner;
  const isObject = typesOf(inner).includes('object') && typeof properties === 'object' && properties !== null;
  if (!isObject || 'additionalProperties' in inner) return inner;
  return { ...inner, additionalProperties: false, propertyNames: { enum: Object.keys(properties) } };
}
