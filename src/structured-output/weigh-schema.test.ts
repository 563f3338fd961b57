import { describe, expect, it } from 'vitest';
import { weighSchema } from './weigh-schema.ts';

const word = { type: 'string' };

/** Steps of a schema; `undefined` where they are not bounded. */
function stepsOf(schema: Readonly<Record<string, unknown>>): number | undefined {
  const weight = weighSchema(schema);
  if (weight.kind !== 'schema') throw new Error(weight.kind);
  expect(weight.text).toBe(JSON.stringify(schema));
  return weight.steps;
}

const bounded = (schema: Readonly<Record<string, unknown>>): number => stepsOf(schema) ?? Number.NaN;

describe('weighing', () => {
  it.each([
    [{}],
    [{ type: 'object' }],
    [{ type: 'object', properties: {}, required: [], additionalProperties: true, description: 'Nothing.' }],
  ])('%j: any object will do', (schema) => {
    expect(weighSchema(schema)).toEqual({ kind: 'any-object' });
  });

  it.each([
    [{ type: 'array' }],
    [{ type: 'object', additionalProperties: false }],
    [{ type: 'object', required: ['a'] }],
    [{ $ref: '#' }],
    [{ 'x-unknown': 1 }],
  ])('%j: not any object will do', (schema) => {
    expect(weighSchema(schema).kind).toBe('schema');
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
    expect(weighSchema({ not: deep })).toEqual({ kind: 'too-large' });
    expect(weighSchema({ enum: Array.from({ length: 200_000 }, () => 1) })).toEqual({ kind: 'too-large' });
    expect(weighSchema({ enum: ['x'.repeat(262_144)] })).toEqual({ kind: 'too-large' });
  });
});
