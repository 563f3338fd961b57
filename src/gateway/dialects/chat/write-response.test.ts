import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnswerEvent } from '../../../core/event.ts';
import { Failure } from '../../../core/failure.ts';
import { type Bill, formatUsd } from '../../../core/money.ts';
import { createJsonWriter, createStreamWriter, writeError, writeUsage } from './write-response.ts';

const identity = { id: 'chatcmpl-1', created: 1_780_000_000, model: 'demo/tiny' };
const bill: Bill = { usage: { promptTokens: 12, completionTokens: 7 }, cost: 6_000_001n };
const interrupted = new Failure('stream_interrupted', 'It broke off.');
const canary = { cause: new Error('CANARY') };

interface Chunk {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly error?: unknown;
  readonly usage?: Readonly<Record<string, unknown>> | null;
  readonly choices: readonly {
    readonly index: number;
    readonly delta: Readonly<Record<string, unknown>>;
    readonly finish_reason: string | null;
  }[];
}

function chunksOf(text: string): readonly Chunk[] {
  const frames = text.split('\n\n');
  // Every frame ends in a blank line, and is one line by itself.
  expect(frames.pop()).toBe('');
  return frames.flatMap((frame) => {
    expect(frame).toMatch(/^data: [^\n\r]+$/);
    return frame === 'data: [DONE]' ? [] : [JSON.parse(frame.slice(6)) as Chunk];
  });
}

const said = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 });
const choice = fc.nat(2);
const event: fc.Arbitrary<AnswerEvent> = fc.oneof(
  fc.record({
    type: fc.constantFrom('text-delta', 'reasoning-delta', 'refusal-delta'),
    choice,
    text: said,
    deltas: fc.constant(1),
  }),
  fc.record({ type: fc.constant('tool-start' as const), choice, tool: fc.constant(0), id: said, name: said }),
  fc.record({ type: fc.constant('tool-delta' as const), choice, tool: fc.constant(0), text: said }),
  fc.record({ type: fc.constant('usage' as const), usage: fc.constant({ promptTokens: 1, completionTokens: 1 }) }),
);
/** An answer, and where it is cut into pushes. */
const answer = fc.array(fc.array(event, { maxLength: 4 }), { maxLength: 5 });
const ends: readonly AnswerEvent[] = [0, 1, 2].map((index) => ({ type: 'finish', choice: index, reason: 'stop' }));

function stream(
  pushes: readonly (readonly AnswerEvent[])[],
  options: { readonly includeUsage: boolean },
  last: 'finish' | 'fail',
): string {
  const writer = createStreamWriter(identity, options);
  const text = pushes.map(writer.push).join('');
  return text + (last === 'finish' ? writer.finish(bill) : writer.fail(interrupted));
}

describe('a written stream', () => {
  it('is frames that each end in a blank line, with one identity, and [DONE] last', () => {
    fc.assert(
      fc.property(answer, fc.boolean(), fc.constantFrom('finish', 'fail'), (pushes, includeUsage, last) => {
        const text = stream([...pushes, ends], { includeUsage }, last);
        expect(text.endsWith('\n\ndata: [DONE]\n\n')).toBe(true);
        expect(text.split('[DONE]\n\n')).toHaveLength(2);
        for (const { id, created, model, object } of chunksOf(text)) {
          expect({ id, created, model, object }).toEqual({ ...identity, object: 'chat.completion.chunk' });
        }
      }),
    );
  });

  it('has the role once per choice, first, and one finish, last', () => {
    fc.assert(
      fc.property(answer, fc.boolean(), (pushes, includeUsage) => {
        const choices = chunksOf(stream([...pushes, ends], { includeUsage }, 'finish')).flatMap(
          (chunk) => chunk.choices,
        );
        for (const index of [0, 1, 2]) {
          const own = choices.filter((each) => each.index === index);
          expect(own.map(({ delta }) => 'role' in delta)).toEqual(own.map((_, at) => at === 0));
          expect(own[0]?.delta).toEqual({ role: 'assistant', content: '' });
          expect(own.map((each) => each.finish_reason)).toEqual(
            own.map((_, at) => (at === own.length - 1 ? 'stop' : null)),
          );
          expect(own.at(-1)?.delta).toEqual({});
        }
      }),
    );
  });

  it('mirrors the reasoning in the same chunk, byte for byte', () => {
    fc.assert(
      fc.property(said, (text) => {
        const [, chunk] = chunksOf(
          stream([[{ type: 'reasoning-delta', choice: 0, text, deltas: 1 }]], { includeUsage: false }, 'finish'),
        );
        expect(chunk?.choices[0]?.delta).toEqual({ reasoning_content: text, reasoning: text });
      }),
    );
  });

  it('carries no error on a good chunk: clients throw at a truthy one', () => {
    fc.assert(
      fc.property(answer, fc.boolean(), (pushes, includeUsage) => {
        for (const chunk of chunksOf(stream([...pushes, ends], { includeUsage }, 'finish')))
          expect(chunk).not.toHaveProperty('error');
      }),
    );
  });

  it('with include_usage has usage null on every chunk but the last, whose choices are empty', () => {
    fc.assert(
      fc.property(answer, (pushes) => {
        const chunks = chunksOf(stream([...pushes, ends], { includeUsage: true }, 'finish'));
        const last = chunks.at(-1);
        expect(chunks.slice(0, -1).map((chunk) => chunk.usage)).toEqual(chunks.slice(1).map(() => null));
        expect(last).toMatchObject({
          choices: [],
          usage: { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 },
        });
      }),
    );
  });

  it('without it has no usage anywhere', () => {
    fc.assert(
      fc.property(answer, (pushes) => {
        for (const chunk of chunksOf(stream([...pushes, ends], { includeUsage: false }, 'finish'))) {
          expect(chunk).not.toHaveProperty('usage');
          expect(chunk.choices).not.toEqual([]);
        }
      }),
    );
  });

  it('writes nothing for usage alone, and for no events', () => {
    const writer = createStreamWriter(identity, { includeUsage: true });
    expect(writer.push([{ type: 'usage', usage: { promptTokens: 1, completionTokens: 0 } }])).toBe('');
    expect(writer.push([])).toBe('');
  });

  it('drops empty deltas after the role: one ends the answer for some clients', () => {
    const chunks = chunksOf(stream([ends.slice(0, 1)], { includeUsage: false }, 'finish'));
    expect(chunks.map((chunk) => chunk.choices[0]?.delta)).toEqual([{ role: 'assistant', content: '' }, {}]);
  });

  it('that breaks off ends in one chunk with the error and its finish_reason (docs/reference/api.md §7.3)', () => {
    const failure = new Failure('stream_interrupted', 'It broke off.', canary);
    for (const includeUsage of [true, false]) {
      const writer = createStreamWriter(identity, { includeUsage });
      const begun = writer.push([{ type: 'text-delta', choice: 0, text: 'Hel', deltas: 1 }]);
      const text = writer.fail(failure);
      const chunks = chunksOf(begun + text);
      expect(chunks.at(-1)).toMatchObject({
        ...identity,
        choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
        error: { code: 'stream_interrupted', type: 'service_error', message: 'It broke off.' },
      });
      expect(chunks.filter((chunk) => 'error' in chunk)).toHaveLength(1);
      expect(text).not.toContain('CANARY');
    }
  });

  it('starts a call with its id, type and name, and goes on with its index and arguments alone', () => {
    const calls: AnswerEvent[] = [
      { type: 'tool-start', choice: 0, tool: 0, id: 'call_1', name: 'f' },
      { type: 'tool-delta', choice: 0, tool: 0, text: '{"a"' },
      { type: 'tool-start', choice: 0, tool: 1, id: 'call_2', name: 'g' },
    ];
    const deltas = chunksOf(stream([calls], { includeUsage: false }, 'finish')).flatMap(({ choices }) =>
      choices.map(({ delta }) => delta['tool_calls']),
    );
    expect(deltas.slice(1)).toEqual([
      [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }],
      [{ index: 0, function: { arguments: '{"a"' } }],
      [{ index: 1, id: 'call_2', type: 'function', function: { name: 'g', arguments: '' } }],
    ]);
  });
});

describe('the usage block', () => {
  it('prints the cost exactly, as a number', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 24n), (cost) => {
        const text = writeUsage({ usage: { promptTokens: 1, completionTokens: 2 }, cost });
        expect(text).toContain(`"cost":${formatUsd(cost)}}`);
        expect(typeof (JSON.parse(text) as { cost: unknown }).cost).toBe('number');
        const [whole = '', fraction = ''] = formatUsd(cost).split('.');
        expect(BigInt(whole) * 10n ** 12n + BigInt(fraction.padEnd(12, '0'))).toBe(cost);
      }),
    );
  });

  it.each([
    [0n, '0'],
    [1n, '0.000000000001'],
    [150_000n, '0.00000015'],
    [1_000_000_000_000n, '1'],
    [9_000_000_000_000_000_001n, '9000000.000000000001'],
  ])('prints %s as %s', (cost, printed) => {
    expect(writeUsage({ usage: { promptTokens: 0, completionTokens: 0 }, cost })).toBe(
      `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,"cost":${printed}}`,
    );
  });

  it('has all counts that were reported, zero included, and no others', () => {
    const counted = { promptTokens: 5, completionTokens: 7, cachedTokens: 0, reasoningTokens: 3 };
    expect(JSON.parse(writeUsage({ usage: counted, cost: 1n }))).toEqual({
      ...{ prompt_tokens: 5, completion_tokens: 7, total_tokens: 12, cost: 1e-12 },
      ...{ prompt_tokens_details: { cached_tokens: 0 }, completion_tokens_details: { reasoning_tokens: 3 } },
    });
    expect(Object.keys(JSON.parse(writeUsage(bill)) as object)).toEqual([
      'prompt_tokens',
      'completion_tokens',
      'total_tokens',
      'cost',
    ]);
  });
});

describe('a written answer', () => {
  const write = (...events: readonly AnswerEvent[]): unknown => {
    const writer = createJsonWriter(identity);
    writer.push(events);
    return JSON.parse(writer.finish(bill));
  };
  const finish: AnswerEvent = { type: 'finish', choice: 0, reason: 'stop' };

  it('has our identity, every field a client looks for, and the bill', () => {
    expect(write({ type: 'text-delta', choice: 0, text: 'Hello', deltas: 1 }, finish)).toEqual({
      ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1_780_000_000, model: 'demo/tiny' },
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19, cost: 0.000_006_000_001 },
    });
  });

  it('has content null with calls or a refusal, and an empty text with nothing', () => {
    const content = (answered: unknown): unknown =>
      (answered as { choices: { message: { content: unknown } }[] }).choices[0]?.message.content;
    expect(content(write(finish))).toBe('');
    expect(content(write({ type: 'refusal-delta', choice: 0, text: 'No', deltas: 1 }, finish))).toBeNull();
    expect(content(write({ type: 'tool-start', choice: 0, tool: 0, id: 'a', name: 'f' }, finish))).toBeNull();
    expect(
      content(
        write(
          { type: 'text-delta', choice: 0, text: 'x', deltas: 1 },
          { type: 'tool-start', choice: 0, tool: 0, id: 'a', name: 'f' },
          finish,
        ),
      ),
    ).toBe('x');
  });

  it('mirrors the reasoning, and leaves both fields out where there is none', () => {
    const traced = write(
      { type: 'reasoning-delta', choice: 0, text: 'Hm', deltas: 1 },
      { type: 'reasoning-delta', choice: 0, text: 'm', deltas: 1 },
      finish,
    );
    expect(traced).toMatchObject({
      choices: [{ message: { reasoning_content: 'Hmm', reasoning: 'Hmm', content: '' } }],
    });
    expect(JSON.stringify(write(finish))).not.toContain('reasoning');
  });

  it('has its choices in the order of their index', () => {
    const both = write({ type: 'finish', choice: 1, reason: 'length' }, finish);
    expect(both).toMatchObject({
      choices: [
        { index: 0, finish_reason: 'stop' },
        { index: 1, finish_reason: 'length' },
      ],
    });
  });
});

it('an error is the envelope and nothing more', () => {
  expect(writeError(new Failure('no_capacity', 'a "b"'))).toBe(
    '{"error":{"message":"a \\"b\\"","type":"service_error"}}',
  );
});

it('breaks a silence by chunks without words, which begin and never follow the end of a choice', () => {
  const writer = createStreamWriter(identity, { includeUsage: true });
  const deltas = (text: string) =>
    chunksOf(text).flatMap(({ choices }) => choices.map(({ index, delta }) => [index, delta]));
  const said = (choice: number): AnswerEvent => ({ type: 'text-delta', choice, text: 'a', deltas: 1 });
  const finished = (choice: number): AnswerEvent => ({ type: 'finish', choice, reason: 'stop' });
  const role = { role: 'assistant', content: '' };
  expect(deltas(writer.keepAlive())).toEqual([[0, role]]);
  expect(deltas(writer.keepAlive())).toEqual([[0, {}]]);
  expect(deltas(writer.push([said(0), said(1)]))).toEqual([
    [0, { content: 'a' }],
    [1, role],
    [1, { content: 'a' }],
  ]);
  writer.push([finished(0)]);
  expect(deltas(writer.keepAlive())).toEqual([[1, {}]]);
  writer.push([finished(1)]);
  expect(writer.keepAlive()).toBe(': keep-alive\n\n');
});
