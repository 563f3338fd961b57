import type { OpenApiSchema } from '../../../scripts/custom-resources/custom-resources.ts';

type Path = readonly (string | number)[];

/** One object of a kind with one field changed: what was changed, for the reader of a failure, and the spec it makes. */
export interface Variant {
  readonly about: string;
  /** Where the field is. */
  readonly path: Path;
  readonly spec: unknown;
}

const absent = Symbol('absent');

/** Values of every JSON type, that no field takes all of. */
const anything = [null, true, false, 0, -1, 1.5, 3.0, '', 'x', '0', ' ', '😀', [], ['x'], [null], {}, { x: 1 }, 1e300];

/** Texts at the borders of what some field takes: names, hosts, paths, prices, moments. */
const texts = [
  ...[
    'vllm-a',
    'Vllm',
    '-a',
    'a-',
    'a.b',
    'a..b',
    'a_b',
    'a/b',
    'a/B',
    '/a',
    'a/',
    'a/b/c',
    'ab',
    'a:b',
    'ä',
    'a\n',
    'a b',
  ],
  ...[
    '::1',
    '1.2.3.4',
    'host.',
    'host..',
    'http://a',
    'a:80',
    '/',
    '/v1',
    '/v1/',
    '/v1/../x',
    '/v1//x',
    '//',
    '/a?b',
    "/a'b",
  ],
  ...[
    '0.0',
    '0.000000000001',
    '0.0000000000001',
    '9.999999999999',
    '10',
    '-1',
    '+1',
    '.5',
    '5.',
    '1e-7',
    '0,1',
    '1.0',
    '1.01',
    '00',
    '0.99',
  ],
  ...[
    '2026-06-01T00:00:00Z',
    '2026-06-01T00:00Z',
    '2026-06-01t00:00:00z',
    '2026-06-01 00:00:00Z',
    '2026-02-30T00:00:00Z',
  ],
  ...[
    '2024-02-29T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '2026-06-01T00:00:00+02:00',
    '2026-06-01T00:00:00+24:00',
    '2026-06-01',
  ],
  ...[
    '2026-06-01T23:59:60Z',
    '2026-06-01T24:00:00Z',
    '2026-06-01T00:00:00.123456789Z',
    '2026-06-01T00:00:00.1234567891Z',
  ],
  ...[
    '2026-06-01T00:00:00',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
    '2026-13-01T00:00:00Z',
  ],
  ...['2026-06-01T00:00:00-00:00', '2026-06-01T00:00:00.Z', '0001-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59'],
  ...['off', 'Off', 'None', 'none', 'custom', 'Custom', '../etc', '.git', 'a/.b', 'a/../b', '~', '__proto__'],
];

/** What may stand at a field, or nearly so. */
function* candidates(schema: OpenApiSchema): Generator<unknown> {
  yield absent;
  yield* anything;
  const {
    minimum,
    maximum,
    minLength = 0,
    maxLength,
    maxItems,
    enum: values,
  } = schema as Readonly<Record<string, number | undefined>> & { readonly enum?: readonly unknown[] };
  if (schema.type === 'string' || schema['x-kubernetes-int-or-string'] === true) yield* texts;
  if (values) yield* values;
  for (const bound of [minimum, maximum]) if (bound !== undefined) yield* [bound - 1, bound, bound + 1];
  if (maxLength !== undefined) {
    for (const unit of ['a', '0', '/a', '😀'])
      for (const length of [minLength, maxLength, maxLength + 1]) yield unit.repeat(Math.ceil(length / unit.length));
    yield* ['😀'.repeat(maxLength), `0.${'0'.repeat(maxLength - 2)}`, `0.${'0'.repeat(maxLength - 1)}`];
  }
  if (schema.items && maxItems !== undefined) {
    const items = schema.items.enum as readonly unknown[] | undefined;
    if (items) yield* [items, [...items, items[0]], [items[0], items[0]], items.slice(0, 1), items.toReversed()];
  }
  if (schema.properties) yield { ...Object.fromEntries(Object.keys(schema.properties).map((name) => [name, null])) };
}

/** Every field of the schema as it stands in a full spec, with everything that is tricky in its place. */
export function* variants(schema: OpenApiSchema, full: unknown): Generator<Variant> {
  for (const [path, at] of places(schema, full, [])) {
    for (const value of candidates(at))
      yield { about: `${path.join('.')} = ${show(value)}`, path, spec: put(full, path, value) };
    if (at.properties) yield { about: `${path.join('.')}.unknown`, path, spec: put(full, [...path, 'unknown'], 1) };
  }
}

/** Where a spec holds something, with the schema of it. */
export function* places(schema: OpenApiSchema, value: unknown, path: Path): Generator<readonly [Path, OpenApiSchema]> {
  if (path.length > 0) yield [path, schema];
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    yield* places(property, (value as Readonly<Record<string, unknown>> | undefined)?.[name], [...path, name]);
  }
  if (schema.items && Array.isArray(value) && value.length > 0) yield* places(schema.items, value[0], [...path, 0]);
}

/** The same with another value at the path; groups on the way that are not there are made. */
export function put(value: unknown, [name, ...rest]: Path, to: unknown): unknown {
  if (name === undefined) return to;
  if (Array.isArray(value))
    return to === absent && rest.length === 0 ? [] : value.with(Number(name), put(value[Number(name)], rest, to));
  const { [name]: before, ...others } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (to === absent && (rest.length === 0 || before === undefined)) return others;
  return { ...others, [name]: put(before, rest, to) };
}

function show(value: unknown): string {
  if (value === absent) return 'absent';
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 60)}… (${text.length})` : text;
}
