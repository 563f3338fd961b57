import { describe, expect, it } from 'vitest';
import { compileSchema, createValidatorCache } from './compile-schema.ts';

type Schema = Readonly<Record<string, unknown>>;

function validate(schema: Schema, value: unknown): string {
  const validate = compileSchema(JSON.stringify(schema));
  if (validate === undefined) return 'no schema';
  return validate(value) ?? 'valid';
}

const draft7 = 'http://json-schema.org/draft-07/schema#';
const draft2020 = 'https://json-schema.org/draft/2020-12/schema';
const word = { type: 'string' };
const pair = [word, { type: 'number' }];
const nullable = { nullable: true };

describe('a schema', () => {
  const rows: readonly (readonly [what: string, schema: Schema, sound: unknown, defective: unknown])[] = [
    ['of draft 2020-12 by name', { $schema: draft2020, prefixItems: pair, items: false }, ['a', 1], ['a', 1, 2]],
    ['of draft 2020-12 by default', { prefixItems: pair }, ['a', 1], [1, 1]],
    ['of draft 7 by name', { $schema: draft7, items: pair, additionalItems: false }, ['a', 1], ['a', 1, 2]],
    [
      'of draft 7 by its form',
      { properties: { a: { items: pair, additionalItems: false } } },
      { a: ['a'] },
      { a: [1] },
    ],
    ['of draft 7 named without its #', { $schema: draft7.slice(0, -1), items: pair }, ['a'], [1]],
    ['of an unknown draft', { $schema: 'https://schema.invalid/next', type: 'string' }, 'a', 1],
    ['with definitions as draft 7 has them', { $ref: '#/definitions/w', definitions: { w: word } }, 'a', 1],
    ['with definitions as 2020-12 has them', { $ref: '#/$defs/w', $defs: { w: word } }, 'a', 1],
    [
      'of draft 7 with what stands beside $ref',
      { $schema: draft7, properties: { a: { $ref: '#/$defs/w', maxLength: 1 } }, $defs: { w: word } },
      { a: 'ab' },
      { a: 1 },
    ],
    [
      'of 2020-12 with what stands beside $ref',
      { properties: { a: { $ref: '#/$defs/w', maxLength: 1 } }, $defs: { w: word } },
      { a: 'a' },
      { a: 'ab' },
    ],
    [
      'that refers to itself',
      { properties: { next: { $ref: '#' }, at: { type: 'number' } } },
      { next: { at: 1 } },
      { next: { at: 'a' } },
    ],
    [
      'that refers by an anchor',
      { properties: { a: { $ref: '#w' } }, $defs: { w: { $anchor: 'w', ...word } } },
      { a: 'a' },
      { a: 1 },
    ],
    [
      'that refers to itself by its own id',
      {
        $id: 'https://schema.invalid/a',
        properties: { a: { $ref: 'https://schema.invalid/a#/$defs/w' } },
        $defs: { w: word },
      },
      { a: 'a' },
      { a: 1 },
    ],
    ['whose id is that of a draft', { $id: draft7, type: 'string' }, 'a', 1],
    ['with an id as draft 4 has it', { id: 'a', type: 'string' }, 'a', 1],
    ['with dependencies', { dependencies: { a: ['b'] } }, { a: 1, b: 1 }, { a: 1 }],
    [
      'with unevaluated properties',
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      { a: 1 },
      { b: 1 },
    ],
    [
      'with bounds as draft 4 has them',
      { minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: false },
      3,
      1,
    ],
    [
      'with unknown keywords and formats',
      { type: 'string', format: 'moon', 'x-order': 1, widget: { type: 1 } },
      'a',
      1,
    ],
    ['with a format: that is an annotation', { type: 'string', format: 'date' }, 'tomorrow', 1],
    ['that is nullable', { type: 'string', ...nullable }, null, 1],
    ['that is not nullable', { type: 'string', nullable: false }, 'a', null],
    ['that is nullable, one of a list', { type: 'string', enum: ['a'], ...nullable }, null, 'b'],
    ['that is nullable, one of a list without a type', { enum: ['a'], ...nullable }, null, 'b'],
    ['that is nullable, a choice', { anyOf: [word], ...nullable }, null, 1],
    [
      'that is nullable, by reference',
      { properties: { a: { $ref: '#/$defs/w', ...nullable } }, $defs: { w: word } },
      { a: null },
      { a: 1 },
    ],
    ['that is nullable and defines', { allOf: [{ $ref: '#/$defs/w' }], $defs: { w: word }, ...nullable }, null, 1],
    [
      'with a property of the name nullable',
      { properties: { nullable: { type: 'boolean' } } },
      { nullable: true },
      { nullable: 1 },
    ],
    [
      'with an enumeration that looks like a schema',
      { enum: [{ nullable: true, items: [] }] },
      { nullable: true, items: [] },
      {},
    ],
    [
      'with a property of every object',
      { properties: { constructor: word, toString: word }, required: ['a'] },
      { a: 1 },
      { a: 1, toString: 1 },
    ],
    ['that requires a property of every object', { required: ['toString'] }, JSON.parse('{"toString":1}'), {}],
    [
      'that forbids others, __proto__ too',
      { properties: { a: {} }, additionalProperties: false },
      { a: 1 },
      JSON.parse('{"__proto__":1}'),
    ],
    ['with numbers beyond ours', { type: 'number', minimum: 10 }, JSON.parse('1e400'), 9],
    ['with integers beyond ours', { type: 'integer' }, JSON.parse('123456789012345678901234567890'), 1.5],
    ['with cents', { multipleOf: 0.01 }, 19.99, 19.995],
    ['with a length in characters', { maxLength: 2 }, '😀😀', '😀😀😀'],
    ['with a pattern in Unicode', { pattern: String.raw`^\p{Lu}$` }, 'É', 'é'],
    ['with a pattern that Unicode would refuse', { pattern: String.raw`^[\w\-.]+\@x$` }, 'a-b@x', 'a b@x'],
    [
      'with a pattern of names',
      { patternProperties: { '^x-': word }, additionalProperties: false },
      { 'x-a': 'a' },
      { y: 'a' },
    ],
  ];
  it.each(rows)('%s', (_, schema, sound, defective) => {
    expect(validate(schema, sound)).toBe('valid');
    expect(validate(schema, defective)).toMatch(/^\w+ at #/);
  });

  it('with two thousand properties is compiled, and run, as one with three is', () => {
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`property-${at}`, { enum: ['a', 'b'] }]));
    const schema = { properties: many, additionalProperties: false };
    expect(JSON.stringify(schema).length).toBeGreaterThan(16 * 1024);
    expect(validate(schema, { 'property-1999': 'a' })).toBe('valid');
    expect(validate(schema, { 'property-1999': 'c' })).toBe('enum at #/properties/property-1999/enum');
    expect(validate(schema, { 'property-2000': 'a' })).toBe('additionalProperties at #/additionalProperties');
  });

  it('does not answer the references of another', () => {
    const named = { $id: 'https://schema.invalid/a', $defs: { w: { $id: 'https://schema.invalid/w', ...word } } };
    expect(validate({ ...named, type: 'object' }, {})).toBe('valid');
    expect(validate({ $ref: 'https://schema.invalid/a' }, {})).toBe('no schema');
    expect(validate({ $ref: 'https://schema.invalid/w' }, {})).toBe('no schema');
    // The same ids, for something else.
    expect(validate({ ...named, $defs: { w: { $id: 'https://schema.invalid/w', type: 'number' } } }, 1)).toBe('valid');
    expect(validate({ type: 'wish' }, {})).toBe('no schema');
  });

  it('says in a detail of bounded length what no terminal obeys', () => {
    const name = `\u001B[31m\n${'x'.repeat(1_000)}`;
    const detail = validate({ properties: { [name]: word } }, { [name]: 1 });
    expect(detail.length).toBeLessThanOrEqual(160);
    expect(detail).toMatch(/^type at #\/properties\/[ -~]+$/);
  });
});

function beginCache(options: { readonly maxCount?: number; readonly maxCharacters?: number } = {}) {
  const compiled: string[] = [];
  const compile = (schema: string) => {
    compiled.push(schema);
    return schema.startsWith('bad') ? undefined : () => schema;
  };
  return { compiled, ...createValidatorCache({ compile, maxCount: 3, maxCharacters: 1_000, ...options }) };
}

it('compiles a schema once, one that cannot be compiled too', () => {
  const cache = beginCache();
  for (const schema of ['a', 'bad', 'a', 'bad']) cache.get(schema);
  expect(cache.compiled).toEqual(['a', 'bad']);
  expect([cache.get('a')?.(0), cache.get('bad')]).toEqual(['a', undefined]);
});

it('forgets the one not used for longest when there are too many', () => {
  const cache = beginCache();
  for (const schema of ['a', 'b', 'c', 'a', 'd', 'a', 'b']) cache.get(schema);
  expect(cache.compiled).toEqual(['a', 'b', 'c', 'd', 'b']);
  expect(cache.size()).toEqual({ count: 3, characters: 3 });
});

it('forgets when they are too large together, and keeps none that is too large alone', () => {
  const cache = beginCache({ maxCharacters: 10 });
  for (const schema of ['aaaa', 'bbbb', 'cccc']) cache.get(schema);
  expect(cache.size()).toEqual({ count: 2, characters: 8 });
  expect(cache.get('x'.repeat(11))?.(0)).toBe('x'.repeat(11));
  expect(cache.size()).toEqual({ count: 0, characters: 0 });
});
