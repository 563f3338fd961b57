import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerTo, idsOf, nextTurn, turnOf, type Way, ways, type Wire } from '../../../test/support/next-turn.ts';
import { targetOf } from '../../../test/support/route-of.ts';

const call = (id: string | undefined, fields: Wire = {}, name = 'look'): Wire => ({
  id,
  type: 'function',
  function: { name, arguments: '{"at":1}' },
  ...fields,
});
const message = (...calls: readonly Wire[]): Wire => ({
  role: 'assistant',
  content: null,
  tool_calls: calls.map((one, index) => ({ index, ...one })),
});

interface Sent {
  readonly tool_calls?: readonly (Wire & { readonly id: string; readonly function: Wire })[];
  readonly tool_call_id?: string;
}

/** The ids of calls and of results that an engine gets. */
function sentIds(messages: readonly Wire[]) {
  const sent: readonly Sent[] = messages;
  return {
    calls: sent.flatMap((one) => one.tool_calls?.map(({ id }) => id) ?? []),
    results: sent.flatMap((one) => (one.tool_call_id === undefined ? [] : [one.tool_call_id])),
  };
}

const callsOf = (messages: readonly Wire[]) => messages.flatMap((one) => (one as Sent).tool_calls ?? []);
const both = (ids: readonly string[]) => ({ calls: ids, results: ids });

const engineIds = [
  ['Kimi', 'functions.look:0'],
  ['Mistral', 'aB3dE6gH9'],
  ['vLLM', 'chatcmpl-tool-0123456789abcdef0123456789abcdef'],
  ['SGLang', 'call_0123456789abcdef01234567'],
  ['DeepSeek', 'call_00_kU8xzLq2PvbN4sTtYwA1cDe3'],
  ['Anthropic', 'toolu_01A09q90qw90lq917835lq9'],
  ['llama.cpp', '9Ef2xGh4kLm6nPq8rSt0uVw2yZa4bCd6'],
  ['a UUID', 'fc_5b2b0a3e-53d0-4a6c-8f39-1d8a3f0b6c11'],
  ['a number', '0'],
  ['a list', '["x"]'],
  ['other letters', 'выzов 🙂'],
  ['a long one', 'x'.repeat(300)],
] as const;

describe.each(ways)('on the surface $surface, stream $stream', (way) => {
  it.each(engineIds)('the id of %s comes back as it was, and the caller sees nothing of it', (_, id) => {
    const other = `${id}1`;
    const answer = answerTo(way, message(call(id), call(other)));
    if (id.length > 1) expect(answer).not.toContain(id);
    const turn = turnOf(way, answer);
    const [one = '', two = ''] = idsOf(turn);
    expect([one, two].every((own) => /^(?:call|toolu)_[\w-]{22,}$/.test(own))).toBe(true);
    expect(one).not.toBe(two);
    expect(sentIds(nextTurn(way, [turn]))).toEqual(both([id, other]));
    // Its twin: without the secret the engine gets the id that the caller has.
    expect(sentIds(nextTurn(way, [turn], targetOf('a'), { opens: false }))).toEqual(both([one, two]));
  });

  it('one id in several turns is another one for the caller each time', () => {
    const turns = [0, 1, 2].map(() => turnOf(way, answerTo(way, message(call('functions.look:0')))));
    expect(new Set(turns.flatMap(idsOf)).size).toBe(3);
    expect(sentIds(nextTurn(way, turns))).toEqual(both(Array.from({ length: 3 }, () => 'functions.look:0')));
  });

  it('calls of one turn with the same id, or with none, keep ids of ours', () => {
    const turn = turnOf(
      way,
      answerTo(way, message(call('same'), call('same', {}, 'see'), call(undefined, {}, 'hear'))),
    );
    const [, two = '', three = ''] = idsOf(turn);
    expect(sentIds(nextTurn(way, [turn]))).toEqual(both(['same', two, three]));
  });

  it('ids that others have made stay as they are', () => {
    const foreign = ['toolu_01A09q90qw90lq917835lq9', 'call_abcdefghijklmnopqrstuvwxyz', 'call_1', 'x.y:1'];
    const turn = turnOf(way, answerTo(way, message(...foreign.map((id) => call(id)))));
    const own = idsOf(turn);
    const text = own.reduce((json, id, at) => json.replaceAll(id, `call_foreign-${at}`), JSON.stringify(turn));
    const sent = sentIds(nextTurn(way, [JSON.parse(text) as Wire[]]));
    expect(sent).toEqual(both(own.map((_, at) => `call_foreign-${at}`)));
  });

  const mistral = targetOf('a', { upstreamModel: 'mistralai/Mistral-Small-4-119B-2603' });

  it('a model that demands nine letters and digits gets its own ids, and others in this form', () => {
    const own = turnOf(way, answerTo(way, message(call('aB3dE6gH9')), mistral));
    const others = engineIds.map(([, id]) => turnOf(way, answerTo(way, message(call(id)))));
    const turns = [own, ...others];
    const { calls, results } = sentIds(nextTurn(way, turns, mistral));
    expect(calls[0]).toBe('aB3dE6gH9');
    expect(calls.filter((id) => !/^[a-zA-Z0-9]{9}$/.test(id))).toEqual([]);
    expect(results).toEqual(calls);
    // The same in every turn, so that the prefix of the conversation stays.
    expect(sentIds(nextTurn(way, turns.slice(0, 5), mistral)).calls).toEqual(calls.slice(0, 5));
    // By the public name of the model as well.
    const named = nextTurn(way, turns, targetOf('a'), { opens: true, model: 'mistralai/devstral' });
    expect(sentIds(named).calls).toEqual(calls);
  });

  const opaque: readonly (readonly [name: string, fields: Wire])[] = [
    ['Gemini', { extra_content: { google: { thought_signature: 'CiQB/+=' } } }],
    ['Vertex', { extra_content: { vertex: { thought_signature: 'AY89a18IwQsQ8in/' } } }],
    ['LiteLLM', { provider_specific_fields: { thought_signature: 'S' } }],
    ['a signature of its own', { thought_signature: 'S' }],
    ['an encrypted text', { encrypted_content: 'gAAAA' }],
    ['a large one', { extra_content: { google: { thought_signature: 'x'.repeat(20_000) } } }],
  ];

  it.each(opaque)('the opaque fields of a call come back, and the caller sees nothing of them: %s', (_, fields) => {
    const answer = answerTo(way, message(call('a', fields), call('b')));
    expect(answer).not.toMatch(/google|vertex|signature":"[^"]*S"|CiQB|AY89|gAAAA/);
    const turn = turnOf(way, answer);
    const [one, two] = callsOf(nextTurn(way, [turn]));
    expect(one).toMatchObject({ id: 'a', ...fields });
    expect(Object.keys(two ?? {})).toEqual(['id', 'type', 'function']);
    // Another model gets none, because it would refuse them.
    const [other] = callsOf(nextTurn(way, [turn], targetOf('a', { upstreamModel: 'other' })));
    expect(Object.keys(other ?? {})).toEqual(['id', 'type', 'function']);
  });

  const ofMessage: readonly (readonly [name: string, fields: Wire])[] = [
    ['Gemini', { extra_content: { google: { thought_signature: 'CiQB' } } }],
    ['OpenRouter', { reasoning_details: [{ type: 'reasoning.encrypted', data: 'gAAAA', id: 'r', index: 0 }] }],
    ['LiteLLM', { thinking_blocks: [{ type: 'thinking', thinking: 'Hm', signature: 'S' }] }],
    ['a signature of its own', { reasoning_signature: 'S' }],
    ['an opaque one', { reasoning_opaque: 'CiQB' }],
  ];

  it.each(ofMessage)('the opaque fields of a message come back: %s', (_, fields) => {
    for (const said of [
      { ...message(call('a')), ...fields },
      { role: 'assistant', content: 'Hello.', ...fields },
    ]) {
      const answer = answerTo(way, said);
      expect(answer).not.toMatch(/google|CiQB|gAAAA|thinking_blocks|"S"/);
      const turn = turnOf(way, answer);
      expect(nextTurn(way, [turn])[1]).toMatchObject(fields);
      const other = nextTurn(way, [turn], targetOf('a', { upstreamModel: 'other' }));
      expect(other[1]).not.toHaveProperty(Object.keys(fields)[0] ?? '');
    }
  });
});

describe.each(ways)('parts of a content with a signature, on the surface $surface, stream $stream', (way) => {
  const contents: readonly (readonly [name: string, content: readonly Wire[]])[] = [
    ['a signed text', [{ type: 'text', text: 'Hello.', thought_signature: 'CiQB' }]],
    [
      'a text with extra content',
      [{ type: 'text', text: 'Hello.', extra_content: { google: { thought_signature: 'CiQB' } } }],
    ],
    [
      'signed thinking',
      [
        { type: 'thinking', thinking: 'Hm', signature: 'CiQB' },
        { type: 'text', text: 'Hello.' },
      ],
    ],
    [
      'a signed summary',
      [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm', signature: 'CiQB' }] },
        { type: 'text', text: 'Hello.' },
      ],
    ],
    [
      'redacted thinking',
      [
        { type: 'redacted_thinking', data: 'CiQB' },
        { type: 'text', text: 'Hello.' },
      ],
    ],
    [
      'two signed texts',
      [
        { type: 'text', text: 'Hel', thought_signature: 'CiQB' },
        { type: 'text', text: 'lo.', thought_signature: 'CiQC' },
      ],
    ],
  ];

  it.each(contents)('come back as they were, and the caller sees nothing of them: %s', (_, content) => {
    for (const calls of [[], [call('a')]]) {
      const answer = answerTo(way, { ...message(...calls), content });
      expect(answer).not.toMatch(/google|CiQ|thought_signature/);
      const turn = turnOf(way, answer);
      expect(nextTurn(way, [turn])[1]?.['content']).toEqual(content);
      // Another model gets the words alone.
      const other = nextTurn(way, [turn], targetOf('a', { upstreamModel: 'other' }));
      expect(other[1]).toMatchObject({ content: 'Hello.' });
    }
  });

  it('are nothing without one', () => {
    const turn = turnOf(way, answerTo(way, { ...message(), content: [{ type: 'text', text: 'Hello.' }] }));
    expect(nextTurn(way, [turn])[1]).toMatchObject({ content: 'Hello.' });
    expect(JSON.stringify(turn)).not.toContain('state.');
  });

  it('stay beside a text that the caller has changed', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm', signature: 'CiQB' },
      { type: 'text', text: 'Hello.' },
    ];
    const turn = JSON.stringify(turnOf(way, answerTo(way, { ...message(), content })));
    const changed = JSON.parse(turn.replace('Hello.', 'Good day.')) as readonly Wire[];
    expect(nextTurn(way, [changed])[1]?.['content']).toEqual([content[0], { type: 'text', text: 'Good day.' }]);
  });
});

describe('the state of a stream', () => {
  const way: Way = { surface: 'chat', stream: true };
  const fragment = (fields: Wire): Wire => ({ tool_calls: [{ index: 0, ...fields }] });

  it('may come after the call has begun, and so may its id', () => {
    const late = [
      fragment({ type: 'function', function: { name: 'look', arguments: '{"at"' } }),
      fragment({ function: { arguments: ':1}' } }),
      fragment({ id: 'functions.look:0', extra_content: { google: { thought_signature: 'S' } } }),
    ];
    const [sent] = callsOf(nextTurn(way, [turnOf(way, answerTo(way, late))]));
    expect(sent).toMatchObject({ id: 'functions.look:0', extra_content: { google: { thought_signature: 'S' } } });
  });

  it('is joined from its pieces', () => {
    const piece = (fields: Wire): Wire => ({
      content: '',
      reasoning_details: [{ type: 'reasoning.text', index: 0, ...fields }],
    });
    const pieces = [
      piece({ text: 'Let ' }),
      piece({ text: 'me' }),
      piece({ text: '', signature: 'S' }),
      { reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'x' }] },
      { content: 'Hello' },
    ];
    expect(nextTurn(way, [turnOf(way, answerTo(way, pieces))])[1]).toMatchObject({
      reasoning_details: [
        { type: 'reasoning.text', index: 0, text: 'Let me', signature: 'S' },
        { type: 'reasoning.encrypted', index: 1, data: 'x' },
      ],
    });
  });

  it('is joined from the pieces of parts', () => {
    const pieces = [
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Let ' }] }] },
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'me' }] }] },
      { content: [{ type: 'thinking', thinking: [], signature: 'S' }] },
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'And' }] }] },
      { content: [{ type: 'text', text: 'Hel' }] },
      { content: [{ type: 'text', text: 'lo' }] },
      { content: [{ type: 'text', text: '', thought_signature: 'T' }] },
    ];
    expect(nextTurn(way, [turnOf(way, answerTo(way, pieces))])[1]?.['content']).toEqual([
      { type: 'thinking', thinking: [{ type: 'text', text: 'Let me' }], signature: 'S' },
      { type: 'thinking', thinking: [{ type: 'text', text: 'And' }] },
      { type: 'text', text: 'Hello', thought_signature: 'T' },
    ]);
  });

  it.each([
    ['a trace in parts', { reasoning_details: [{ type: 'reasoning.text', text: 'Hm', index: 0 }] }],
    ['a mark of a piece', { extra_content: { google: { thought: true } } }],
    ['empty fields', { extra_content: null, thought_signature: '', provider_specific_fields: { refusal: null } }],
  ])('is nothing for %s', (_, fields) => {
    const answer = answerTo(way, [{ content: 'Hello', ...fields }]);
    expect(answer).not.toContain('reasoning_details');
  });
});

it('nine letters and digits hold 10,000 round trips of ids, each its own', () => {
  const way: Way = { surface: 'chat', stream: false };
  const mistral = targetOf('a', { upstreamModel: 'mistral-large-latest' });
  const ids = Array.from({ length: 10_000 }, (_, at) => `functions.look:${at}`);
  const turn: Wire = { role: 'assistant', content: null, tool_calls: ids.map((id) => call(id)) };
  const results = ids.map((id) => ({ role: 'tool', tool_call_id: id, content: '' }));
  const sent = sentIds(nextTurn(way, [[turn, ...results]], mistral));
  expect(sent.results).toEqual(sent.calls);
  expect(new Set(sent.calls).size).toBe(ids.length);
  expect(sent.calls.filter((id) => !/^[a-zA-Z0-9]{9}$/.test(id))).toEqual([]);
});

it('any id comes back through any surface', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), fc.constantFrom(...ways), (id, way) => {
      const turn = turnOf(way, answerTo(way, message(call(id))));
      expect(sentIds(nextTurn(way, [turn]))).toEqual(both([id]));
    }),
    { numRuns: 300 },
  );
});
