import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TextEvent } from '../../../core/event.ts';
import { type DeltaTemplate, learnTemplate } from './delta-template.ts';

/** The text of one chunk that matches the template. */
function match({ run }: DeltaTemplate, payload: string): string | undefined {
  const input = `data: ${payload}\n\n`;
  let text = '';
  const end = run(input, 0, (found) => (text = found));
  return end === input.length ? text : undefined;
}

type Field = 'content' | 'reasoning_content' | 'reasoning';

const event = (text: string, field: Field, choice = 0): TextEvent => ({
  type: field === 'content' ? 'text-delta' : 'reasoning-delta',
  choice,
  text,
  deltas: 1,
});

/** Chunks of several engines, which differ in nothing but their text. */
const engines: readonly ((field: Field, text: string) => object)[] = [
  (field, text) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { [field]: text }, finish_reason: null }],
  }),
  (field, text) => ({
    choices: [{ index: 0, delta: { role: 'assistant', [field]: text }, logprobs: null, finish_reason: null }],
    usage: null,
  }),
  (field, text) => ({
    model: 'a"b\\c',
    choices: [{ delta: { tool_calls: null, [field]: text, refusal: null }, index: 0 }],
    obfuscation: 'xx',
  }),
];

function learned(payload: string, text: string, field: Field): DeltaTemplate {
  const template = learnTemplate(payload, event(text, field));
  if (template === undefined) throw new Error('nothing was learned');
  return template;
}

/** The text of a chunk, parsed as JSON. Undefined when it is not JSON. */
function textIn(payload: string, field: Field): string | undefined {
  try {
    const chunk = JSON.parse(payload) as { choices: { delta: Record<Field, string> }[] };
    return chunk.choices[0]?.delta[field];
  } catch {
    return undefined;
  }
}

const engine = fc.constantFrom(...engines);
const field = fc.constantFrom<Field>('content', 'reasoning_content', 'reasoning');
/** Texts with everything that has a meaning in JSON. */
const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.constantFrom('"', '\\', '\\"', '"}', '\n', '\u0000', '\u2028', '\\u0041', '"},"x":{"', '}]}'),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(''));

describe('a learned template', () => {
  it('reads every chunk that it matches as parsing would, and matches most plain ones', () => {
    fc.assert(
      fc.property(engine, field, text, (chunk, name, said) => {
        const template = learned(JSON.stringify(chunk(name, ' first')), ' first', name);
        const payload = JSON.stringify(chunk(name, said));
        const matched = match(template, payload);
        if (matched !== undefined) expect(matched).toBe(said);
        else expect(said === '' || /["\\\p{Cc}\p{Cs}]/u.test(said)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('reads any bytes in place of the text as parsing would, or does not match', () => {
    fc.assert(
      fc.property(engine, field, text, (chunk, name, raw) => {
        const first = JSON.stringify(chunk(name, '@@'));
        const template = learned(first, '@@', name);
        const payload = first.replace('@@', () => raw);
        const matched = match(template, payload);
        if (matched !== undefined) expect(matched).toBe(textIn(payload, name));
      }),
      { numRuns: 1000 },
    );
  });

  it('does not match a chunk that also holds something else', () => {
    const chunk = (more: object, delta: object = {}) =>
      JSON.stringify({
        id: 'c',
        choices: [{ index: 0, delta: { content: 'abc', ...delta }, finish_reason: null, ...more }],
      });
    const template = learned(chunk({}), 'abc', 'content');
    expect(match(template, chunk({}))).toBe('abc');
    expect(match(template, chunk({ finish_reason: 'stop' }))).toBeUndefined();
    expect(match(template, chunk({ index: 1 }))).toBeUndefined();
    expect(match(template, chunk({}, { tool_calls: [] }))).toBeUndefined();
    expect(match(template, chunk({}, { content: '' }))).toBe('');
    expect(match(template, '{"choices":[{"index":0,"delta":{"content":"')).toBeUndefined();
    expect(match(template, '')).toBeUndefined();
  });
});

describe('a template of chunks that count as they go', () => {
  type Counts = readonly [prompt: number, completion: number];
  const block = ([prompt, completion]: Counts) => ({
    prompt_tokens: prompt,
    total_tokens: prompt + completion,
    completion_tokens: completion,
    prompt_tokens_details: { cached_tokens: 7 },
    reasoning_tokens: 0,
  });
  const chunk = (said: string, counts: Counts, indent?: number): string =>
    JSON.stringify(
      { id: 'c', choices: [{ index: 0, delta: { content: said }, finish_reason: null }], usage: block(counts), n: 3 },
      undefined,
      indent,
    );

  /** The text and counts that the template reads from an input, and where it stops. */
  function readRun(template: DeltaTemplate, payloads: readonly string[]) {
    const input = payloads.map((payload) => `data: ${payload}\n\n`).join('');
    let found: unknown;
    const end = template.run(input, 0, (said, deltas, usage) => {
      found = { said, deltas, usage: usage === undefined ? undefined : (JSON.parse(usage) as unknown) };
    });
    return { found, left: input.slice(end) };
  }

  it('reads their text and the last of their counts', () => {
    const count = fc.nat({ max: 2 ** 40 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.stringMatching(/^[a-z0-9 {}:,]{0,6}$/), fc.tuple(count, count)), { minLength: 1 }),
        (pieces) => {
          const template = learned(chunk('first', [1, 1]), 'first', 'content');
          const { found, left } = readRun(
            template,
            pieces.map(([said, counts]) => chunk(said, counts)),
          );
          expect(left).toBe('');
          expect(found).toEqual({
            said: pieces.map(([said]) => said).join(''),
            deltas: pieces.filter(([said]) => said !== '').length,
            usage: block(pieces.at(-1)?.[1] ?? [0, 0]),
          });
        },
      ),
    );
  });

  const first = chunk('first', [1, 1]);
  it.each([
    ['a count with a leading zero', chunk('x', [2, 2]).replace(':2', ':02')],
    ['a count below zero', chunk('x', [2, 2]).replace(':2', ':-2')],
    ['a count that is no whole number', chunk('x', [2, 2]).replace(':2', ':2.5')],
    ['a count with an exponent', chunk('x', [2, 2]).replace(':2', ':2e9')],
    ['a count beyond what a number holds', chunk('x', [2, 2]).replace(':2', `:2${'0'.repeat(20)}`)],
    ['no count', chunk('x', [2, 2]).replace(':2', ':')],
    ['a count of null', chunk('x', [2, 2]).replace(':2', ':null')],
    ['another block', chunk('x', [2, 2]).replace('"reasoning_tokens":0', '"reasoning_tokens":null')],
    ['a number of something else changed', chunk('x', [2, 2]).replace('"n":3', '"n":4')],
    ['an end that is cut off', chunk('x', [2, 2]).slice(0, -1)],
  ])('stops before %s', (_, payload) => {
    const template = learned(first, 'first', 'content');
    const { found, left } = readRun(template, [chunk('y', [1, 2]), payload, chunk('z', [3, 3])]);
    expect(found).toEqual({ said: 'y', deltas: 1, usage: block([1, 2]) });
    expect(left.startsWith(`data: ${payload}`)).toBe(true);
  });

  it('is learned only from the usage of the chunk itself', () => {
    const inner = JSON.stringify({
      choices: [{ index: 0, delta: { content: 'ab' } }],
      x: { usage: { a: 1 } },
      usage: null,
    });
    const template = learned(inner, 'ab', 'content');
    expect(readRun(template, [inner.replace('"a":1', '"a":2')])).toMatchObject({ found: undefined });
    expect(readRun(template, [inner.replace('ab', 'cd')])).toEqual({ found: { said: 'cd', deltas: 1 }, left: '' });
  });
});

describe('learning', () => {
  const learn = (payload: object | string, said: TextEvent) =>
    learnTemplate(typeof payload === 'string' ? payload : JSON.stringify(payload), said);

  it.each([
    [
      'its text occurs twice',
      { choices: [{ index: 0, delta: { content: 'ab', other: 'ab' } }] },
      event('ab', 'content'),
    ],
    [
      'both reasoning fields carry it',
      { choices: [{ index: 0, delta: { reasoning: 'ab', reasoning_content: 'ab' } }] },
      event('ab', 'reasoning'),
    ],
    [
      'its text occurs elsewhere only',
      { id: 'ab', choices: [{ index: 0, delta: { content: 7 } }] },
      event('ab', 'content'),
    ],
    [
      'it belongs to the second choice of the chunk',
      {
        choices: [
          { index: 0, delta: {} },
          { index: 1, delta: { content: 'ab' } },
        ],
      },
      event('ab', 'content', 1),
    ],
    [
      'a later key overrules it',
      '{"choices":[{"index":0,"delta":{"content":"ab","content":"cd"}}]}',
      event('ab', 'content'),
    ],
    [
      'it has logprobs',
      { choices: [{ index: 0, delta: { content: 'ab' } }] },
      { ...event('ab', 'content'), logprobs: { content: [1] } },
    ],
    [
      'it is written with other escapes',
      '{"choices":[{"index":0,"delta":{"content":"\\u0061b"}}]}',
      event('ab', 'content'),
    ],
  ])('is refused when %s', (_, payload, said) => {
    expect(learn(payload, said)).toBeUndefined();
  });
});
