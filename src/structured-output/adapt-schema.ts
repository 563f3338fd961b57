import { isObject, type JsonObject } from '../core/json.ts';

export interface AdaptedSchema {
  readonly draft: '7' | '2020-12';
  readonly schema: JsonObject;
}

/** Where schemas stand inside a schema. Elsewhere (`enum`, `default`) the same words are data. */
const positions: ReadonlyMap<string, 'schema' | 'list' | 'map'> = new Map([
  ...['additionalItems', 'additionalProperties', 'contains', 'else', 'if', 'items', 'not'].map(
    (key) => [key, 'schema'] as const,
  ),
  ...['propertyNames', 'then', 'unevaluatedItems', 'unevaluatedProperties'].map((key) => [key, 'schema'] as const),
  ...['allOf', 'anyOf', 'oneOf', 'prefixItems'].map((key) => [key, 'list'] as const),
  ...['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties'].map(
    (key) => [key, 'map'] as const,
  ),
]);

/** Keywords, besides `type` and `enum`, that may refuse a null. */
const judgesNull = ['const', 'anyOf', 'oneOf', 'allOf', '$ref', '$dynamicRef', 'not', 'if'];
/** What others refer to stays where it is. */
const staysOutside = new Set(['$id', '$anchor', '$dynamicAnchor', '$defs', 'definitions']);

const withNull = (values: readonly unknown[], mark: unknown): readonly unknown[] =>
  values.includes(mark) ? values : [...values, mark];

/** OpenAPI 3.0's `nullable`, which tool schemas are full of: null is allowed whatever else the schema says. */
function admitNull(schema: JsonObject): JsonObject {
  if (!('nullable' in schema)) return schema;
  const { nullable, ...rest } = schema;
  if (nullable !== true) return rest;
  if (judgesNull.some((key) => key in rest)) {
    const entries = Object.entries(rest);
    return {
      ...Object.fromEntries(entries.filter(([key]) => staysOutside.has(key))),
      anyOf: [{ type: 'null' }, Object.fromEntries(entries.filter(([key]) => !staysOutside.has(key)))],
    };
  }
  const { type, enum: members } = rest;
  return {
    ...rest,
    ...(type === undefined ? {} : { type: withNull(Array.isArray(type) ? type : [type], 'null') }),
    ...(Array.isArray(members) ? { enum: withNull(members, null) } : {}),
  };
}

/** Draft 4's and OpenAPI 3.0's `exclusiveMinimum: true` beside `minimum`. */
function modernBound(schema: JsonObject, exclusive: string, inclusive: string): JsonObject {
  const flag = schema[exclusive];
  if (typeof flag !== 'boolean') return schema;
  const { [exclusive]: _, ...rest } = schema;
  if (!flag) return rest;
  const { [inclusive]: bound, ...others } = rest;
  return bound === undefined ? others : { ...others, [exclusive]: bound };
}

/**
 * Brings a schema into a form that a validator of one draft understands, without changing what it means: the draft is what
 * `$schema` says, else 2020-12, except where `items` is a list, which only older drafts know.
 */
export function adaptSchema(root: JsonObject): AdaptedSchema {
  let hasTuples = false;

  function adapt(value: unknown): unknown {
    if (!isObject(value)) return value;
    if (Array.isArray(value['items'])) hasTuples = true;
    const entries = Object.entries(value).map(([key, inner]) => [key, adaptAt(key, inner)] as const);
    const bounded = modernBound(Object.fromEntries(entries), 'exclusiveMinimum', 'minimum');
    return admitNull(modernBound(bounded, 'exclusiveMaximum', 'maximum'));
  }

  function adaptAt(key: string, value: unknown): unknown {
    const position = positions.get(key);
    if (position === undefined) return value;
    if (Array.isArray(value)) return position === 'map' ? value : value.map(adapt);
    if (position !== 'map' || !isObject(value)) return adapt(value);
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, adapt(inner)]));
  }

  const { $schema, ...schema } = root;
  const adapted = adapt(schema);
  const named = typeof $schema === 'string' ? $schema : '';
  const isOld = /draft-0[3-7]/.test(named) || (hasTuples && !named.includes('2020-12'));
  return { draft: isOld ? '7' : '2020-12', schema: isObject(adapted) ? adapted : {} };
}
