import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnswerEvent, ReadStep, ResponseReader } from '../../../core/event.ts';
import { tagSets } from '../../../core/capability.ts';
import type { ResponseOptions } from './read-answer.ts';
import { createJsonReader, createStreamReader } from './read-response.ts';

const options: ResponseOptions = {
  toolNames: new Set(),
  newToolId: (choice, tool) => `call_${choice}_${tool}`,
  choices: 1,
};

function read(reader: ResponseReader, pieces: readonly string[]) {
  const encoder = new TextEncoder();
  const pushed: ReadStep[] = pieces.map((each) => reader.push(encoder.encode(each)));
  const steps = pushed.some(({ state }) => state !== 'open') ? pushed : [...pushed, reader.end()];
  const events: readonly AnswerEvent[] = steps.flatMap((step) => step.events);
  const textOf = (type: AnswerEvent['type']): string =>
    events.map((event) => (event.type === type && 'text' in event ? event.text : '')).join('');
  const usage = events.findLast((event) => event.type === 'usage');
  return {
    text: textOf('text-delta'),
    reasoning: textOf('reasoning-delta'),
    deltas: events.reduce((sum, event) => sum + ('deltas' in event ? event.deltas : 0), 0),
    usage: usage?.type === 'usage' ? usage.usage : undefined,
    finishes: events.flatMap((event) => (event.type === 'finish' ? [event.reason] : [])),
    end: steps.at(-1)?.state,
    events,
  };
}

const frame = (chunk: object): string => `data: ${JSON.stringify(chunk)}\n\n`;
const delta = (fields: object, more: object = {}): object => ({
  id: 'c',
  choices: [{ index: 0, delta: fields, finish_reason: null }],
  ...more,
});
const finish = (more: object = {}): string =>
  `${frame({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...more })}data: [DONE]\n\n`;
const usageOf = (completion: number) => ({
  prompt_tokens: 9,
  completion_tokens: completion,
  total_tokens: 9 + completion,
});

const piece = fc.oneof(
  fc.stringMatching(/^[a-z ]{1,6}$/),
  fc.constantFrom('<think>', '</think>', '</thi', 'nk>', '"', '\\', '\n', 'é', '👩‍👩‍👧', '{"'),
);

describe('a stream with tags and running usage', () => {
  it('has the same events as one object, however its chunks are joined', () => {
    fc.assert(
      fc.property(
        fc.array(piece, { minLength: 1, maxLength: 30 }),
        fc.boolean(),
        fc.boolean(),
        (words, implicitOpen, counting) => {
          const inline = { ...options, reasoning: { tags: [tagSets.think], implicitOpen } };
          const usage = counting ? (index: number) => ({ usage: usageOf(index + 1) }) : () => ({});
          const frames = words.map((content, index) => frame(delta({ content }, usage(index))));
          const stream = [...frames, finish(usage(words.length - 1))];
          const message = { role: 'assistant', content: words.join('') };
          const whole = JSON.stringify({
            choices: [{ index: 0, message, finish_reason: 'stop' }],
            ...usage(words.length - 1),
          });
          const { events: _, deltas: __, ...expected } = read(createJsonReader(inline), [whole]);
          expect(expected.end).toBe('complete');
          for (const pieces of [stream, [stream.join('')]]) {
            const { events: ___, deltas, ...said } = read(createStreamReader(inline), pieces);
            expect(said).toEqual(expected);
            expect(deltas).toBeLessThanOrEqual(words.length);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('makes one event of text and one of usage of chunks that arrived together', () => {
    const frames = Array.from({ length: 50 }, (_, index) =>
      frame(delta({ content: ` w${index}` }, { usage: usageOf(index + 1) })),
    );
    const { events } = createStreamReader(options).push(new TextEncoder().encode(frames.join('')));
    expect(events).toEqual([
      { type: 'text-delta', choice: 0, text: frames.map((_, index) => ` w${index}`).join(''), deltas: 50 },
      { type: 'usage', usage: { promptTokens: 9, completionTokens: 50 } },
    ]);
  });

  it('leaves tags alone once the engine has reported reasoning in a field', () => {
    const inline = { ...options, reasoning: { tags: [tagSets.think], implicitOpen: true } };
    const stream = [
      frame(delta({ reasoning_content: 'Hm.' })),
      frame(delta({ content: '<think> is a tag' })),
      finish(),
    ];
    expect(read(createStreamReader(inline), stream)).toMatchObject({ reasoning: 'Hm.', text: '<think> is a tag' });
  });

  it('leaves tags alone on a route that does not use them', () => {
    const stream = [frame(delta({ content: '<think>a</think>b' })), finish()];
    expect(read(createStreamReader(options), stream)).toMatchObject({ reasoning: '', text: '<think>a</think>b' });
  });

  it('ends reasoning without a closing tag with the answer', () => {
    const inline = { ...options, reasoning: { tags: [tagSets.think], implicitOpen: false } };
    const stream = [frame(delta({ content: '<think>Hm</thi' })), finish()];
    expect(read(createStreamReader(inline), stream)).toMatchObject({ reasoning: 'Hm</thi', text: '', end: 'complete' });
  });

  it('returns held-back text before a tool call', () => {
    const inline = { ...options, reasoning: { tags: [tagSets.think], implicitOpen: false } };
    const call = { index: 0, id: 'x', function: { name: 'f', arguments: '{}' } };
    const stream = [
      frame(delta({ content: 'a <' })),
      frame(delta({ content: '<' })),
      frame(delta({ tool_calls: [call] })),
    ];
    const types = read(createStreamReader(inline), stream).events.map(({ type }) => type);
    expect(types.indexOf('tool-start')).toBe(types.lastIndexOf('text-delta') + 1);
  });

  it('sorts each choice by itself', () => {
    const inline = { ...options, choices: 2, reasoning: { tags: [tagSets.think], implicitOpen: false } };
    const said = (index: number, content: string): string => frame({ choices: [{ index, delta: { content } }] });
    const ends = [0, 1].map((index) => frame({ choices: [{ index, delta: {}, finish_reason: 'stop' }] }));
    const stream = [said(0, '<think>a'), said(1, 'b<think>'), said(0, 'c</think>d'), said(1, 'e</think>'), ...ends];
    const { events } = read(createStreamReader(inline), stream);
    const of = (choice: number) =>
      events.flatMap((event) => ('deltas' in event && event.choice === choice ? [`${event.type}: ${event.text}`] : []));
    expect(of(0)).toEqual(['reasoning-delta: a', 'reasoning-delta: c', 'text-delta: d']);
    expect(of(1)).toEqual(['text-delta: b<think>', 'text-delta: e</think>']);
  });
});

describe('an answer that continues another', () => {
  const going = { ...options, answerBegun: true };

  it('is not reasoning where the prompt usually opens it', () => {
    const inline = { ...going, reasoning: { tags: [tagSets.think], implicitOpen: true } };
    const stream = [frame(delta({ content: ' and so on' })), finish()];
    expect(read(createStreamReader(inline), stream)).toMatchObject({ text: ' and so on', reasoning: '' });
  });
});

describe('an error in a 200', () => {
  const error = { error: { message: "This model's maximum context length is 10 tokens", code: 400 } };
  const fault = { kind: 'engine-error', engineError: 'context-length', status: 400 };

  it.each([
    ['an object', JSON.stringify(error)],
    ['a list', JSON.stringify([error])],
    ['a line of a stream', `data: ${JSON.stringify(error)}\n\n`],
    ['an object with no choices in its list', JSON.stringify({ ...error, choices: [] })],
    ['an object that names itself', JSON.stringify({ object: 'error', ...error.error })],
  ])('is a fault of its class as %s where JSON was said to come', (_, body) => {
    expect(read(createJsonReader(options), [body]).end).toMatchObject(fault);
  });

  it.each([
    ['an object', error],
    ['a list', [error]],
    ['an object that names itself', { object: 'error', ...error.error }],
    ['an object with nothing but a code and a message', error.error],
  ])('is a fault of its class as %s in a stream', (_, chunk) => {
    expect(read(createStreamReader(options), [frame(delta({ content: 'a' })), frame(chunk)]).end).toMatchObject(fault);
  });
});

describe('what an answer calls its model', () => {
  it.each([
    ['demo/model:7b-2026@q4', 'demo/model:7b-2026@q4'],
    ['', undefined],
    ['what the prompt said', undefined],
    ['m'.repeat(129), undefined],
    [7, undefined],
    [undefined, undefined],
  ])('%j is told as %j, of a stream and of a whole answer', (model, told) => {
    const stream = createStreamReader(options);
    read(stream, [frame(delta({ content: 'a' }, { model })), finish({ model })]);
    expect(stream.model?.()).toBe(told);
    const json = createJsonReader(options);
    read(json, [JSON.stringify({ model, choices: [{ index: 0, message: { content: 'a' }, finish_reason: 'stop' }] })]);
    expect(json.model?.()).toBe(told);
  });
});

const orders = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2], [1, 0]] as const;

/** A choice with its own number as its text. */
const choiceOf = (index: number, kind: 'delta' | 'message') => ({
  ...{ index, [kind]: { role: 'assistant', content: `of ${index}` }, finish_reason: 'stop' },
});
const textsOf = (events: readonly AnswerEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'text-delta' ? [`${event.choice}: ${event.text}`] : []));

describe.each(orders.map((order) => [order] as const))('choices in the order %j', (order) => {
  const texts = order.map((index) => `${index}: of ${index}`);

  it('keep their numbers in one chunk of a stream', () => {
    const chunk = frame({ id: 'c', choices: order.map((index) => choiceOf(index, 'delta')) });
    expect(textsOf(read(createStreamReader({ ...options, choices: 3 }), [chunk]).events)).toEqual(texts);
  });

  it('keep their numbers in a chunk each', () => {
    const chunks = order.map((index) => frame({ id: 'c', choices: [choiceOf(index, 'delta')] }));
    expect(textsOf(read(createStreamReader({ ...options, choices: 3 }), chunks).events)).toEqual(texts);
  });
});

it.each(orders.filter(({ length }) => length === 3).map((order) => [order] as const))(
  'choices in the order %j keep their numbers in a whole answer',
  (order) => {
    const answer = JSON.stringify({ id: 'c', choices: order.map((index) => choiceOf(index, 'message')) });
    const { events } = read(createJsonReader({ ...options, choices: 3 }), [answer]);
    expect(textsOf(events)).toEqual(order.map((index) => `${index}: of ${index}`));
  },
);
