import { describe, expect, it } from 'vitest';
import { schemaCost } from './schema-cost.ts';

const word = { type: 'string' };

/** Steps of a schema; `undefined` where they are not bounded. */
function stepsOf(schema: Readonly<Record<string, unknown>>): number | undefined {
  const cost = schemaCost(schema);
  if (cost.kind !== 'schema') throw new Error(cost.kind);
  expect(cost.text).toBe(JSON.stringify(schema));
  return cost.steps;
}

const bounded = (schema: Readonly<Record<string, unknown>>): number => stepsOf(schema) ?? Number.NaN;

describe('the cost of a schema', () => {
  it.each([
    [{}],
    [{ type: 'object' }],
    [{ type: 'object', properties: {}, required: [], additionalProperties: true, description: 'Nothing.' }],
  ])('%j: every object is valid', (schema) => {
    expect(schemaCost(schema)).toEqual({ kind: 'any-object' });
  });

  it.each([
    [{ type: 'array' }],
    [{ type: 'object', additionalProperties: false }],
    [{ type: 'object', required: ['a'] }],
    [{ $ref: '#' }],
    [{ 'x-unknown': 1 }],
  ])('%j: not every object is valid', (schema) => {
    expect(schemaCost(schema).kind).toBe('schema');
  });

  it.each<[Readonly<Record<string, unknown>>]>([
    [{ properties: { a: { pattern: 'a' } } }],
    [{ patternProperties: { a: word } }],
    [{ items: { uniqueItems: true } }],
    [{ $dynamicRef: '#a' }],
    [{ $recursiveRef: '#' }],
    [{ $ref: '#' }],
    [{ $ref: '#/properties/a' }],
    [{ $ref: 'https://schema.invalid' }],
    [{ $ref: '#/$defs/a', $defs: { a: { items: { $ref: '#/$defs/b' } }, b: { items: { $ref: '#/$defs/a' } } } }],
  ])('%j could take any time', (schema) => {
    expect(stepsOf(schema)).toBeUndefined();
  });

  it.each<[Readonly<Record<string, unknown>>]>([
    [{ properties: { pattern: word, $ref: word } }],
    [{ items: { uniqueItems: false } }],
    [{ $ref: '#/$defs/a', $defs: { a: { items: { $ref: '#/definitions/b' } } }, definitions: { b: word } }],
  ])('%j could not', (schema) => {
    expect(stepsOf(schema)).toBeGreaterThan(0);
  });

  it('counts a definition as often as it is referred to', () => {
    const doubling = (times: number) => ({
      $ref: '#/$defs/d0',
      $defs: Object.fromEntries(
        Array.from({ length: times + 1 }, (_, at) => [
          `d${at}`,
          at === times ? word : { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
        ]),
      ),
    });
    expect(bounded(doubling(10)) / bounded(doubling(5))).toBeGreaterThan(20);
    expect(bounded(doubling(40))).toBeGreaterThan(2 ** 40);
  });

  it('counts no descriptions, but properties of that name', () => {
    const plain = bounded({ properties: { a: word } });
    expect(bounded({ properties: { a: { ...word, description: 'x'.repeat(1_000) } } })).toBe(plain);
    expect(bounded({ properties: { a: word, description: word } })).toBeGreaterThan(plain);
  });

  it('gives up early on what is too large or nested too deep', () => {
    const deep: unknown = JSON.parse('{"items":'.repeat(100_000) + '{}' + '}'.repeat(100_000));
    expect(schemaCost({ not: deep })).toEqual({ kind: 'too-large' });
    expect(schemaCost({ enum: Array.from({ length: 200_000 }, () => 1) })).toEqual({ kind: 'too-large' });
    expect(schemaCost({ enum: ['x'.repeat(262_144)] })).toEqual({ kind: 'too-large' });
  });
});
