import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { seededChance } from './chance.ts';
import { schemaInstance } from './schema-instance.ts';

const make = (schema: unknown, seed = 1): unknown =>
  schemaInstance(schema, { chance: seededChance(seed), quote: 'CANARY words' });

const cases: { readonly [name: string]: z.core.JSONSchema.JSONSchema } = {
  'an object with required and optional properties': {
    type: 'object',
    properties: {
      city: { type: 'string' },
      days: { type: 'integer', minimum: 1, maximum: 7 },
      unit: { enum: ['c', 'f'] },
    },
    required: ['city', 'unit'],
    additionalProperties: false,
  },
  'bounds on numbers': {
    type: 'object',
    properties: {
      a: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
      b: { type: 'integer', multipleOf: 7, minimum: 20 },
      c: { type: 'number', maximum: -3 },
    },
    required: ['a', 'b', 'c'],
  },
  'bounds on strings': { type: 'string', minLength: 40, maxLength: 41 },
  'a short string': { type: 'string', maxLength: 3 },
  'arrays with a least length': { type: 'array', items: { type: 'boolean' }, minItems: 3 },
  'a fixed tuple': { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }] },
  alternatives: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
  'a nullable type': { type: ['string', 'null'] },
  'a constant': { const: 'fixed' },
  'a local reference that refers to itself': {
    type: 'object',
    properties: { root: { $ref: '#/$defs/node' } },
    required: ['root'],
    $defs: {
      node: {
        type: 'object',
        properties: { value: { type: 'integer' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
        required: ['value', 'children'],
      },
    },
  },
  'an email': { type: 'string', format: 'email' },
  'a uuid': { type: 'string', format: 'uuid' },
};

describe('an instance made from a schema', () => {
  for (const [name, schema] of Object.entries(cases)) {
    test(`is valid: ${name}`, () => {
      const validator = z.fromJSONSchema(schema);
      for (let seed = 1; seed <= 25; seed += 1) {
        const instance = make(schema, seed);
        expect(validator.safeParse(instance), JSON.stringify(instance)).toMatchObject({ success: true });
      }
    });
  }

  test('the validator used here does refuse what is wrong', () => {
    expect(z.fromJSONSchema({ type: 'integer', multipleOf: 7 }).safeParse(8).success).toBe(false);
  });

  test('quotes the prompt in its first free string, once', () => {
    const strings = {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a', 'b'],
    };
    expect(make(strings)).toMatchObject({ a: 'CANARY words', b: expect.not.stringContaining('CANARY') });
  });

  test('is the same for the same chance', () => {
    expect(make(cases['an object with required and optional properties'], 5)).toEqual(
      make(cases['an object with required and optional properties'], 5),
    );
  });

  test('merges allOf', () => {
    const merged = {
      allOf: [
        { type: 'object', properties: { a: { const: 1 } }, required: ['a'] },
        { type: 'object', properties: { b: { const: 2 } }, required: ['b'] },
      ],
    };
    expect(make(merged)).toEqual({ a: 1, b: 2 });
  });
});
