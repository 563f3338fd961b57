import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TextEvent } from '../../core/event.ts';
import { type DeltaTemplate, learnTemplate } from './delta-template.ts';

/** The text of one chunk that fits the template. */
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

/** What the chunk says, read the long way; undefined when it is not JSON. */
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
/** Texts with everything in them that means something to JSON. */
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
  it('gives for every chunk it matches what parsing it would, and matches most plain ones', () => {
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

  it('gives for whatever bytes stand where the text was what parsing it would, or does not match', () => {
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

  it('does not match a chunk that says something else too', () => {
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

describe('learning', () => {
  const learn = (payload: object | string, said: TextEvent) =>
    learnTemplate(typeof payload === 'string' ? payload : JSON.stringify(payload), said);

  it.each([
    [
      'its text stands twice',
      { choices: [{ index: 0, delta: { content: 'ab', other: 'ab' } }] },
      event('ab', 'content'),
    ],
    [
      'both reasoning fields carry it',
      { choices: [{ index: 0, delta: { reasoning: 'ab', reasoning_content: 'ab' } }] },
      event('ab', 'reasoning'),
    ],
    [
      'its text stands elsewhere only',
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
