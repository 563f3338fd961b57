import { describe, expect, it } from 'vitest';
import type { RequestTarget } from '../../../core/capability.ts';
import { chatEngineNames } from '../../../core/engine-name.ts';
import type { Message } from '../../../core/request.ts';
import { targetOf } from '../../../../test/support/route-of.ts';
import { writeRequest } from './write-request.ts';

type Wire = Readonly<Record<string, unknown>>;

/** The messages that an engine gets. */
function sent(messages: readonly Message[], target: Partial<RequestTarget>): readonly Wire[] {
  const common = { modelName: 'demo/tiny', tools: [], sampling: {}, stream: false, includeUsage: false, inert: [] };
  const body = writeRequest({ ...common, messages }, targetOf('a', target));
  return (JSON.parse(body) as { messages: Wire[] }).messages;
}

const callsOf = (turn: Wire | undefined) => (turn?.['tool_calls'] ?? []) as readonly { readonly id: string }[];

const user: Message = { role: 'user', content: 'Look.' };
const call = { id: 'call_1', name: 'look', arguments: '{}' };
const calling: Message = { role: 'assistant', toolCalls: [call, { ...call, id: 'call_2' }] };
const results: readonly Message[] = ['call_1', 'call_2'].map((id) => ({ role: 'tool', toolCallId: id, content: 'ok' }));
const loop = [user, calling, ...results];
const on = { enabled: true } as const;

describe('a turn with calls that has no trace', () => {
  it.each([
    ['deepseek', '', 'while the model reasons'],
    ['moonshot', ' ', 'while the model reasons'],
  ] as const)('gets one for %s: "%s", %s', (engine, trace, _when) => {
    expect(sent(loop, { engine, reasoning: on })[1]).toMatchObject({ reasoning_content: trace });
    expect(sent(loop, { engine, reasoning: { enabled: false } })[1]).not.toHaveProperty('reasoning_content');
    expect(sent(loop, { engine })[1]).not.toHaveProperty('reasoning_content');
    // An empty one is none, and another one stays. A turn without calls needs none.
    const [empty, own, plain] = [
      sent([user, { ...calling, reasoning: '' }], { engine, reasoning: on })[1],
      sent([user, { ...calling, reasoning: 'Hm' }], { engine, reasoning: on })[1],
      sent([user, { role: 'assistant', content: 'Yes.' }], { engine, reasoning: on })[1],
    ];
    expect(empty).toMatchObject({ reasoning_content: trace });
    expect(own).toMatchObject({ reasoning_content: 'Hm' });
    expect(plain).not.toHaveProperty('reasoning_content');
  });

  it('gets none for any other engine', () => {
    const others = chatEngineNames.filter((name) => name !== 'deepseek' && name !== 'moonshot');
    for (const engine of others) {
      const turn = sent(loop, { engine, reasoning: on })[1];
      expect(turn).not.toHaveProperty('reasoning_content');
      expect(turn).not.toHaveProperty('reasoning');
    }
  });
});

describe('a text that is missing', () => {
  const empty: Message = { role: 'assistant', content: '' };

  it('is null beside calls, for every engine', () => {
    for (const engine of chatEngineNames) {
      expect(sent([user, { ...calling, content: '' }], { engine })[1]).toMatchObject({ content: null });
      expect(sent([user, { ...calling, content: 'Now.' }], { engine })[1]).toMatchObject({ content: 'Now.' });
    }
  });

  it.each([
    ['moonshot', 'kimi-k3', ' '],
    ['openai', 'mistral-large-latest', '…'],
    ['openai', 'anthropic/claude-opus-4-6', '…'],
    ['vllm', 'Qwen/Qwen3-8B', ''],
  ] as const)('is sent to %s with %s as "%s"', (engine, upstreamModel, text) => {
    const messages = sent([{ role: 'user', content: '' }, empty, user], { engine, upstreamModel });
    expect(messages.slice(0, 2).map(({ content }) => content)).toEqual([text, text]);
  });
});

describe('a model behind any engine', () => {
  const mistral = [
    'mistralai/Mistral-Small-4-119B-2603',
    'mistral-large-latest',
    'devstral-medium-latest',
    'Ministral-3-14B',
    'codestral-2508',
    'unsloth/Magistral-Small-2509-GGUF',
    'mixtral:8x22b',
  ];

  it.each(mistral)('of Mistral gets ids, names and turns as it demands them: %s', (upstreamModel) => {
    for (const engine of ['openai', 'vllm', 'sglang', 'llamacpp', 'ollama'] as const) {
      const messages = sent([...loop, user], { engine, upstreamModel });
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant', 'user']);
      const ids = callsOf(messages[1]).map(({ id }) => id);
      expect(ids.every((id) => /^[a-zA-Z0-9]{9}$/.test(id))).toBe(true);
      expect(messages.slice(2, 4)).toMatchObject(ids.map((id) => ({ name: 'look', tool_call_id: id })));
    }
  });

  it.each(['google/gemini-3-pro-preview', 'gemini-3.1-flash', 'gemini-flash-latest'])(
    'of Gemini gets a signature that it accepts for calls of others: %s',
    (upstreamModel) => {
      const [, turn, first] = sent(loop, { engine: 'openai', upstreamModel });
      const extra = { google: { thought_signature: 'skip_thought_signature_validator' } };
      const calls = callsOf(turn);
      expect(calls[0]).toMatchObject({ extra_content: extra });
      expect(calls[1]).not.toHaveProperty('extra_content');
      expect(first).toMatchObject({ name: 'look', tool_call_id: 'call_1' });
    },
  );

  it('of Gemini gets its own fields where they are known', () => {
    const target = { engine: 'openai', upstreamModel: 'gemini-3-pro' } as const;
    const state = { of: 'openai gemini-3-pro', fields: { extra_content: { google: { thought_signature: 'S' } } } };
    const [, turn] = sent([user, { ...calling, toolCalls: [{ ...call, state }] }], target);
    expect(turn).toMatchObject({ tool_calls: [state.fields] });
  });

  it.each([
    ['claude-sonnet-4-6', 'functions.look:0', false],
    ['claude-sonnet-4-6', `toolu_${'x'.repeat(58)}`, true],
    ['gpt-5.2', 'x'.repeat(41), false],
    ['gpt-5.2', 'functions.look:0', true],
    ['moonshotai/Kimi-K2.7-Code', 'functions.look:12', true],
    ['kimi-k2-thinking', 'call_0', false],
    ['moonshotai/Kimi-K3', 'x'.repeat(99), true],
    ['gemini-2.5-pro', 'x.y:z', true],
  ])('%s gets the id %s as it is: %s', (upstreamModel, id, isKept) => {
    const turns: readonly Message[] = [
      user,
      { role: 'assistant', toolCalls: [{ ...call, id }] },
      { role: 'tool', toolCallId: id, content: '' },
    ];
    const [, turn, result] = sent(turns, { engine: 'openai', upstreamModel });
    const [{ id: got } = { id: '' }] = callsOf(turn);
    expect(got === id).toBe(isKept);
    expect(result).toMatchObject({ tool_call_id: got });
  });
});

describe('calls of other models, for a model that reads the name of a tool from the id', () => {
  const kimi = { engine: 'vllm', upstreamModel: 'moonshotai/Kimi-K2.5' } as const;
  const turn = (...calls: readonly (readonly [id: string, name: string])[]): readonly Message[] => [
    { role: 'assistant', toolCalls: calls.map(([id, name]) => ({ id, name, arguments: '{}' })) },
    ...calls.map(([id]): Message => ({ role: 'tool', toolCallId: id, content: 'ok' })),
  ];
  const ids = (...turns: readonly (readonly Message[])[]) => {
    const messages = sent([user, ...turns.flat()], kimi);
    const made = messages.flatMap(callsOf).map(({ id }) => id);
    expect(messages.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual(made);
    return made;
  };

  it('get the name and their place among all calls', () => {
    expect(ids(turn(['call_a', 'look'], ['call_b', 'see']), turn(['call_c', 'look']))).toEqual([
      'functions.look:0',
      'functions.see:1',
      'functions.look:2',
    ]);
  });

  it('get the same ids in every turn, and no id that the model has given', () => {
    const first = turn(['call_a', 'look'], ['call_b', 'look']);
    expect(ids(first, turn(['functions.look:2', 'look']))).toEqual([...ids(first), 'functions.look:2']);
    expect(ids(turn(['call_a', 'look']), turn(['functions.look:0', 'look']))).toEqual([
      'functions.look:1',
      'functions.look:0',
    ]);
  });
});

describe('a model that demands the trace of its calls, behind any host', () => {
  it.each(['deepseek-v4-flash', 'deepseek/deepseek-v4-pro', 'DeepSeek-V4.1', 'xiaomi/mimo-v2-flash'])(
    'gets it: %s',
    (upstreamModel) => {
      for (const engine of ['openai', 'together'] as const) {
        const target = { engine, upstreamModel, reasoning: on };
        expect(sent([user, { ...calling, reasoning: 'Hm' }], target)[1]).toMatchObject({ reasoning_content: 'Hm' });
        expect(sent(loop, target)[1]).toMatchObject({ reasoning_content: '' });
        // A host that does not know the field gets none.
        const [, turn] = sent(loop, { ...target, unknownFields: ['trace'] });
        expect(turn).not.toHaveProperty('reasoning_content');
      }
    },
  );

  it('is no other one', () => {
    for (const upstreamModel of ['deepseek-chat', 'deepseek-v3.2', 'gpt-5.2']) {
      const [, turn] = sent([user, { ...calling, reasoning: 'Hm' }], { engine: 'openai', upstreamModel });
      expect(turn).not.toHaveProperty('reasoning_content');
    }
  });
});

it('names the tool, and adds a turn, for no other engine', () => {
  for (const engine of chatEngineNames) {
    const messages = sent([...loop, user], { engine });
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
    expect(messages[2]).toEqual({ role: 'tool', tool_call_id: 'call_1', content: 'ok' });
  }
});
