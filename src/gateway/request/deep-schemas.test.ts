import { describe, expect, it } from 'vitest';
import { Failure } from '../../core/failure.ts';
import { schemaCost } from '../structured-output/checker/schema-cost.ts';
import { uncounted } from '../../../test/support/uncounted.ts';
import { prepareHere } from './prepare.ts';

/** A schema that refers from definition to definition so many times in a row. */
const chainOf = (length: number) => ({
  type: 'object',
  properties: { a: { $ref: '#/$defs/d1' } },
  $defs: Object.fromEntries(
    Array.from({ length }, (_, at) => [`d${at + 1}`, at + 1 < length ? { items: { $ref: `#/$defs/d${at + 2}` } } : {}]),
  ),
});
const nested = (levels: number): object => JSON.parse('{"items":'.repeat(levels) + '{}' + '}'.repeat(levels));

type Surface = 'chat' | 'messages' | 'responses';
const user = [{ role: 'user', content: 'hi' }];
const places: readonly (readonly [field: string, surface: Surface, body: (schema: object) => object])[] = [
  [
    'response_format.json_schema.schema',
    'chat',
    (schema) => ({ messages: user, response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } }),
  ],
  [
    'tools[0].function.parameters',
    'chat',
    (parameters) => ({ messages: user, tools: [{ type: 'function', function: { name: 'f', parameters } }] }),
  ],
  [
    'tools[0].input_schema',
    'messages',
    (schema) => ({ messages: user, max_tokens: 9, tools: [{ name: 'f', input_schema: schema }] }),
  ],
  [
    'output_config.format.schema',
    'messages',
    (schema) => ({ messages: user, max_tokens: 9, output_config: { format: { type: 'json_schema', schema } } }),
  ],
  [
    'tools[0].parameters',
    'responses',
    (parameters) => ({ input: 'hi', tools: [{ type: 'function', name: 'f', parameters }] }),
  ],
  [
    'text.format.schema',
    'responses',
    (schema) => ({ input: 'hi', text: { format: { type: 'json_schema', name: 'n', schema } } }),
  ],
];

function refusalOf(surface: Surface, body: object): string | undefined {
  const bytes = new TextEncoder().encode(JSON.stringify({ model: 'demo/tiny', ...body }));
  try {
    prepareHere(bytes, { surface, countPrompt: uncounted });
    return undefined;
  } catch (error) {
    return error instanceof Failure ? `${error.row.status} ${error.message}` : String(error);
  }
}

describe.each(places)("a caller's schema at %s of %s", (field, surface, body) => {
  it('is refused by its field if its references go too deep', () => {
    expect(refusalOf(surface, body(chainOf(3_000)))).toBe(
      `400 ${field}: refers from definition to definition more than 128 times in a row`,
    );
    expect(refusalOf(surface, body(chainOf(129)))).toContain(`400 ${field}: `);
  });

  it('is refused by its field if it is nested too deep', () => {
    expect(refusalOf(surface, body(nested(300)))).toBe(`400 ${field}: nested deeper than 256 levels`);
  });

  it('may refer to itself, and in a chain of the bound', () => {
    expect(refusalOf(surface, body(chainOf(128)))).toBeUndefined();
    expect(
      refusalOf(surface, body({ $ref: '#/$defs/a', $defs: { a: { items: { $ref: '#/$defs/a' } } } })),
    ).toBeUndefined();
  });
});

it('the cost of a schema is no deeper than the stack, even of one that was let through', () => {
  // Twin: whoever follows such a chain without a bound leaves the stack, and the error was the operator's.
  const follow = (definitions: Record<string, { items?: { $ref: string } }>, name: string): number => {
    const next = definitions[name]?.items?.$ref.slice('#/$defs/'.length);
    return next === undefined
      ? 1
      : 1 + [next].map((one) => follow(definitions, one)).reduce((sum, one) => sum + one, 0);
  };
  const schema = chainOf(30_000);
  expect(() => follow(schema.$defs, 'd1')).toThrow(RangeError);
  expect(schemaCost(chainOf(3_000))).toEqual({ kind: 'too-large' });
});
