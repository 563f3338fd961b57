import { type Chance, pick } from './chance.ts';
import { arrayOr, isJsonObject, type JsonObject, objectOr } from './json-value.ts';

/** What the instance is made with. */
export interface InstanceWish {
  readonly chance: Chance;
  /** Goes into the first string that is free to hold it, so that something of the prompt is in the JSON. */
  readonly quote: string;
}

/**
 * A value that the schema allows, with its required properties and no more than three others. Understands what tool and answer schemas use: type, properties, items, enum,
 * const, anyOf/oneOf/allOf, local $ref, bounds on lengths and numbers, the common formats. A `pattern` is honoured only when it
 * is one of a few simple ones; a schema that contradicts itself gets a value that cannot satisfy it.
 */
export function schemaInstance(schema: unknown, wish: InstanceWish): unknown {
  return createMaker(schema, wish)(schema, 0);
}

type Maker = (schema: unknown, depth: number) => unknown;

function createMaker(root: unknown, wish: InstanceWish): Maker {
  let quoted = false;

  const make: Maker = (given, depth) => {
    if (given === false) return null;
    const schema = resolve(objectOr(given));
    if (schema['const'] !== undefined) return schema['const'];
    const [firstAllowed, ...allowed] = arrayOr(schema['enum']);
    if (firstAllowed !== undefined) return pick([firstAllowed, ...allowed], wish.chance);
    const branch = arrayOr(schema['anyOf'])[0] ?? arrayOr(schema['oneOf'])[0];
    if (branch !== undefined) return make({ ...withoutBranches(schema), ...resolve(objectOr(branch)) }, depth);
    switch (typeOf(schema)) {
      case 'object':
        return makeObject(schema, depth);
      case 'array':
        return makeArray(schema, depth);
      case 'integer':
        return makeNumber(schema, 1);
      case 'number':
        return makeNumber(schema, 0.5);
      case 'boolean':
        return wish.chance() < 0.5;
      case 'null':
        return null;
      case 'string':
        return makeString(schema);
      default:
        return makeString({});
    }
  };

  const resolve = (schema: JsonObject, hops = 0): JsonObject => {
    const merged = arrayOr(schema['allOf']).reduce<JsonObject>(
      (all, part) => mergeSchemas(all, resolve(objectOr(part), hops + 1)),
      withoutBranch(schema, 'allOf'),
    );
    const reference = merged['$ref'];
    if (typeof reference !== 'string' || hops > 20) return merged;
    return resolve(mergeSchemas(withoutBranch(merged, '$ref'), objectOr(lookUp(root, reference))), hops + 1);
  };

  const makeObject = (schema: JsonObject, depth: number): JsonObject => {
    const properties = objectOr(schema['properties']);
    const required = arrayOr(schema['required']).filter((name) => typeof name === 'string');
    // Recursive schemas end where only required properties are made.
    const optional =
      depth > 3
        ? []
        : Object.keys(properties)
            .filter((name) => !required.includes(name))
            .slice(0, 3);
    const names = Object.keys(properties).filter((name) => required.includes(name) || optional.includes(name));
    for (const name of required) if (!names.includes(name)) names.push(name);
    const made = names.map((name) => [name, make(properties[name] ?? schema['additionalProperties'] ?? {}, depth + 1)]);
    return Object.fromEntries(made);
  };

  const makeArray = (schema: JsonObject, depth: number): readonly unknown[] => {
    const heads = arrayOr(schema['prefixItems']);
    const least = numberOr(schema['minItems'], heads.length > 0 ? heads.length : depth > 3 ? 0 : 1);
    const length = Math.max(0, Math.min(least, numberOr(schema['maxItems'], least)));
    return Array.from({ length }, (_, index) =>
      distinct(make(heads[index] ?? schema['items'] ?? {}, depth + 1), schema, index),
    );
  };

  const makeNumber = (schema: JsonObject, step: number): number => {
    const multiple = numberOr(schema['multipleOf'], step);
    const low = Math.max(
      numberOr(schema['minimum'], -Infinity),
      numberOr(schema['exclusiveMinimum'], -Infinity) + multiple / 2,
    );
    const high = Math.min(
      numberOr(schema['maximum'], Infinity),
      numberOr(schema['exclusiveMaximum'], Infinity) - multiple / 2,
    );
    const start = Number.isFinite(low) ? low : Number.isFinite(high) ? high - 10 * multiple : 0;
    const first = Math.ceil(start / multiple);
    const room = Math.max(0, Math.min(20, Math.floor(high / multiple) - first));
    const value = (first + Math.floor(wish.chance() * (room + 1))) * multiple;
    // No multiple fits between narrow bounds of a plain number: their middle does.
    return schema['multipleOf'] === undefined && step < 1 && value > high ? (low + high) / 2 : value;
  };

  const makeString = (schema: JsonObject): string => {
    const format = formats[String(schema['format'])] ?? patterns[String(schema['pattern'])];
    if (format !== undefined) return format;
    const least = numberOr(schema['minLength'], 0);
    const most = numberOr(schema['maxLength'], Infinity);
    const text = quoted || wish.quote === '' ? pick(plainWords, wish.chance) : wish.quote;
    quoted = true;
    const points = Array.from(text);
    const filler = Array.from({ length: Math.max(0, least - points.length) }, () => 'x');
    return [...points, ...filler].slice(0, Math.max(0, most)).join('');
  };

  return make;
}

/** Equal items are told apart where the schema wants them unique. */
function distinct(item: unknown, schema: JsonObject, index: number): unknown {
  if (schema['uniqueItems'] !== true || index === 0) return item;
  if (typeof item === 'string') return `${item}${index}`;
  return typeof item === 'number' ? item + index * numberOr(objectOr(schema['items'])['multipleOf'], 1) : item;
}

function typeOf(schema: JsonObject): unknown {
  const type = schema['type'];
  if (Array.isArray(type)) return type.find((one) => one !== 'null') ?? 'null';
  if (type !== undefined) return type;
  if (isJsonObject(schema['properties']) || schema['required'] !== undefined) return 'object';
  return schema['items'] === undefined && schema['prefixItems'] === undefined ? undefined : 'array';
}

function mergeSchemas(left: JsonObject, right: JsonObject): JsonObject {
  return {
    ...left,
    ...right,
    properties: { ...objectOr(left['properties']), ...objectOr(right['properties']) },
    required: [...new Set([...arrayOr(left['required']), ...arrayOr(right['required'])])],
    ...(typeOf(left) === undefined && typeOf(right) === undefined
      ? { properties: undefined, required: undefined }
      : {}),
  };
}

function lookUp(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return {};
  const steps = reference.slice(1).split('/').filter(Boolean);
  return steps.reduce<unknown>((at, step) => objectOr(at)[step.replaceAll('~1', '/').replaceAll('~0', '~')], root);
}

const withoutBranch = (schema: JsonObject, name: string): JsonObject => ({ ...schema, [name]: undefined });
const withoutBranches = (schema: JsonObject): JsonObject => ({ ...schema, anyOf: undefined, oneOf: undefined });
const numberOr = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);

const plainWords: readonly [string, ...string[]] = ['weir', 'river', 'gate', 'mill', 'spring', 'lock'];

const formats: { readonly [format: string]: string } = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  email: 'keeper@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
  duration: 'PT1H',
};

const patterns: { readonly [pattern: string]: string } = {
  '^[a-z]+$': 'weir',
  '^[A-Z]+$': 'WEIR',
  '^[A-Z]{2}$': 'NL',
  '^[A-Z]{3}$': 'EUR',
  '^[0-9]+$': '42',
  '^\\d+$': '42',
  '^\\d{4}-\\d{2}-\\d{2}$': '2026-01-31',
};
