import { afterEach, describe, expect, it } from 'vitest';
import { expectNothingAdded, openResources } from '../../../../test/support/open-resources.ts';
import { stuckAfterMs } from '../../../../test/support/stuck-after.ts';
import type { StructureAsk, StructureChecker, StructureResult } from '../../core/structure.ts';
import { startThread } from '../../../process/worker-thread.ts';
import { startStructureChecker, type StructureCheckerOptions } from './start-structure-checker.ts';

let checker: StructureChecker | undefined;
afterEach(async () => {
  await checker?.close();
  checker = undefined;
});

function start(options: Omit<StructureCheckerOptions, 'startThread'> = {}): StructureChecker {
  // Whatever takes its turn on a busy machine, a check waits for its own.
  checker = startStructureChecker({ timeoutMs: stuckAfterMs, ...options, startThread });
  return checker;
}

const late: StructureResult = { kind: 'unknown', reason: 'time' };
const integer: StructureAsk = { text: '{"a":1}', schema: { properties: { a: { type: 'integer' } } } };
/** Each `a` doubles its time, so that it never ends within a test. */
const stuck = (name: string): StructureAsk => ({
  text: JSON.stringify({ [name]: `${'a'.repeat(60)}!` }),
  schema: { properties: { [name]: { pattern: '^(a+)+$' } } },
});
/** A pattern too, but a quick one: it waits in the same line. */
const quick = (text: string): StructureAsk => ({
  text: JSON.stringify({ a: text }),
  schema: { properties: { a: { pattern: '^[a-z]*$' } } },
});

describe('without a schema', () => {
  const rows: readonly (readonly [ask: StructureAsk, kind: string])[] = [
    [{ text: ' {"a":1}\n' }, 'valid'],
    [{ text: '{"a":1,"a":2}' }, 'valid'],
    [{ text: '{"a":12345678901234567890}' }, 'valid'],
    [{ text: '' }, 'invalid'],
    [{ text: '{"a":1' }, 'invalid'],
    [{ text: '{"a":1} Done.' }, 'invalid'],
    [{ text: '```json\n{}\n```' }, 'invalid'],
    [{ text: '[]' }, 'invalid'],
    [{ text: 'null' }, 'invalid'],
    [{ text: '[]', top: 'any' }, 'valid'],
    [{ text: 'nul', top: 'any' }, 'invalid'],
    [{ text: '{"a":1}', schema: { type: 'object' } }, 'valid'],
    [{ text: '[]', schema: { type: 'object', properties: {} } }, 'invalid'],
  ];
  it.each(rows)('validates %j on the spot: %s', async (ask, kind) => {
    const before = openResources();
    expect((await start().check(ask)).kind).toBe(kind);
    // No thread: it would still be there.
    expect(openResources()).toEqual(before);
  });

  it('validates a long text elsewhere, and alike', async () => {
    const words = 'x'.repeat(1_000_000);
    expect(await start().check({ text: JSON.stringify({ words }) })).toEqual({ kind: 'valid' });
    expect(await checker?.check({ text: JSON.stringify([words]) })).toMatchObject({ kind: 'invalid' });
    expect(await checker?.check({ text: `{"words":"${words}` })).toMatchObject({ kind: 'invalid' });
    expect(await checker?.check({ text: `{"words":"${words}${words}${words}` })).toEqual(late);
  });
});

it('says where a defect is in the schema, and nothing of the value', async () => {
  expect(await start().check({ ...integer, text: '{"a":"secret"}' })).toEqual({
    kind: 'invalid',
    detail: 'type at #/properties/a/type',
    missesSchema: true,
  });
});

it('answers a thousand at once, each its own', async () => {
  const { check } = start();
  const asks = Array.from({ length: 1_000 }, (_, index) => ({
    text: JSON.stringify({ a: index % 3 }),
    schema: {
      properties: { a: { const: index % 2 } },
      title: `${index % 40}`,
      ...(index % 5 === 0 ? { pattern: '^a*$' } : {}),
    },
  }));
  const results = await Promise.all(asks.map(check));
  for (const [index, { kind }] of results.entries()) {
    expect(kind, String(index)).toBe(index % 3 === index % 2 ? 'valid' : 'invalid');
  }
});

describe('a check that takes too long', () => {
  it('is answered with unknown, and so is the next of its schema, at once; others go on', async () => {
    const { check } = start();
    const [hostile, ...others] = await Promise.all([
      check(stuck('x')),
      ...['abc', 'A', 'def'].map((text) => check(quick(text))),
    ]);
    expect([hostile, ...others.map(({ kind }) => kind)]).toEqual([late, 'valid', 'invalid', 'valid']);
    // An answer of a thread takes a turn of the loop.
    const turn = new Promise((resolve) => setImmediate(() => resolve('a turn')));
    expect(await Promise.race([check({ ...stuck('x'), text: '{}' }), turn])).toEqual(late);
    // Its twin under another name has not done anybody harm yet.
    expect(await check({ ...stuck('y'), text: '{}' })).toEqual({ kind: 'valid' });
  });

  it('holds up none that is provably quick', async () => {
    const { check } = start();
    await check(integer);
    const order: string[] = [];
    const hostile = check(stuck('x')).then(() => order.push('hostile'));
    await check(integer).then(() => order.push('quick'));
    await hostile;
    expect(order).toEqual(['quick', 'hostile']);
  });

  it('after others of its kind makes the rest wait only so long', async () => {
    const { check } = start({ timeoutMs: 1_500 });
    // The thread has loaded.
    await check(quick('a'));
    const results = await Promise.all([
      ...['a', 'b', 'c', 'd', 'e', 'f'].map((name) => check(stuck(name))),
      check(quick('A')),
    ]);
    expect(results).toEqual(Array.from({ length: 7 }, () => late));
    expect(await check(quick('A'))).toMatchObject({ kind: 'invalid' });
  });

  const hostile: readonly (readonly [what: string, ask: StructureAsk])[] = [
    ['a schema that refers to itself without end', { text: '{}', schema: { $ref: '#' } }],
    [
      'definitions that double',
      {
        text: '{}',
        schema: {
          $ref: '#/$defs/d0',
          $defs: {
            d40: {},
            ...Object.fromEntries(
              Array.from({ length: 40 }, (_, at) => [
                `d${at}`,
                { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
              ]),
            ),
          },
        },
      },
    ],
    [
      'a value nested deeper than the stack',
      {
        text: '{"a":'.repeat(200_000) + '1' + '}'.repeat(200_000),
        schema: { properties: { a: { $ref: '#' } } },
      },
    ],
  ];
  it.each(hostile)('or overflows, for %s, is unknown, and the next is answered', async (_, ask) => {
    const { check } = start();
    expect(await check(ask)).toEqual(late);
    expect(await check(quick('A'))).toMatchObject({ kind: 'invalid' });
  });
});

describe('a schema that cannot be validated by', () => {
  const nested = (levels: number): Record<string, unknown> => (levels === 0 ? {} : { items: nested(levels - 1) });
  const rows: readonly (readonly [what: string, schema: Record<string, unknown>])[] = [
    ['refers to elsewhere', { $ref: 'https://schema.invalid/a.json' }],
    ['refers to nothing', { $ref: '#/$defs/gone' }],
    ['is no schema', { type: 'wish' }],
    ['has a pattern of another language', { properties: { a: { pattern: String.raw`\A\w+\Z` } } }],
    ['is too large', { enum: ['x'.repeat(300_000)] }],
    ['is nested too deep', nested(600)],
    ['would answer with a promise', { $async: true, type: 'string' }],
  ];
  it.each(rows)('because it %s is unknown: the answer is no defect', async (_, schema) => {
    expect(await start().check({ text: '{"a":1}', schema })).toEqual({ kind: 'unknown', reason: 'schema' });
    // Its twin.
    expect(await checker?.check({ ...integer, text: '{"a":"1"}' })).toMatchObject({ kind: 'invalid' });
  });
});

describe('closed', () => {
  it('leaves nothing open, not even what it had begun', async () => {
    const before = openResources();
    const { check, close } = start({ allowanceMs: 60_000 });
    // Both threads are there, and one has more to do.
    await Promise.all([check(integer), check(quick('a'))]);
    const doing = Promise.all([check(stuck('x')), check(stuck('x')), check(quick('a'))]);
    const closing = close();
    expect(await doing).toEqual([late, late, late]);
    await closing;
    await expectNothingAdded(before);
    expect(await check(quick('a'))).toEqual(late);
    await close();
  });

  it('before it had begun anything, too', async () => {
    const { check, close } = start();
    const doing = check(integer);
    await close();
    expect(await doing).toEqual(late);
  });
});
