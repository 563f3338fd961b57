import { beforeEach, describe, expect, test } from 'vitest';
import { parameterNames } from '../../src/core/parameters.ts';
import { demoModel, demoRoute } from './support/catalog-manifest.ts';
import { startContractGateway } from './support/contract-gateway.ts';
import { refusalOf } from './support/refusal.ts';
import { canary } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

type Json = Readonly<Record<string, unknown>>;

const kinds = ['vllm', 'openai', 'llamacpp', 'zai'] as const;

const gateway = await forFile(
  startContractGateway({
    kinds,
    models: [
      demoModel('image', [demoRoute('vllm')], { inputModalities: ['text', 'image'] }),
      demoModel('top-a', [demoRoute('vllm', { parameters: ['top_a', 'temperature'] })]),
    ],
  }),
);
const { engine } = gateway;
beforeEach(() => engine.reset());

const user = { role: 'user', content: `${canary} Say hello` };
const ask = (fields: Json = {}): Json => ({ model: 'test/vllm', messages: [user], ...fields });
const weather = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};
const send = (body: object | string): Promise<Response> => gateway.send(body);

/** Sends a body that is to be served; resolves with what the engine got. */
async function received(body: Json): Promise<Json> {
  const before = engine.requests().length;
  const response = await send(body);
  expect(response.status, await response.text()).toBe(200);
  expect(engine.requests().length).toBe(before + 1);
  return engine.requests().at(-1)?.body as Json;
}

async function refused(body: Json): Promise<Awaited<ReturnType<typeof refusalOf>>> {
  const refusal = await refusalOf(await send(body));
  expect(engine.requests()).toEqual([]);
  return refusal;
}

async function answered(body: Json): Promise<Json> {
  const response = await send(body);
  expect(response.status).toBe(200);
  return (await response.json()) as Json;
}

/** What a request that asks for nothing comes to at vLLM: the workspace's salt, the deepest reasoning, and running usage on a stream. */
const plain = (stream: boolean): Json => ({
  ...{ model: 'demo-chat', messages: [user], cache_salt: expect.stringMatching(/^[0-9a-f]{16}$/) as string },
  ...{ chat_template_kwargs: { enable_thinking: true, thinking: true }, reasoning_effort: 'max' },
  ...(stream
    ? { stream: true, stream_options: { include_usage: true, continuous_usage_stats: true } }
    : { stream: false }),
});

/** A parameter, values that it takes, and what it does not go without. */
const passed: readonly (readonly [field: string, values: readonly unknown[], beside?: Json])[] = [
  ['temperature', [0, 0.7, 2]],
  ['top_p', [0, 0.5, 1]],
  ['max_tokens', [1, 1000]],
  ['stop', ['END', ['a'], ['a', 'b', 'c', 'd']]],
  ['seed', [0, -7, Number.MAX_SAFE_INTEGER]],
  ['n', [2, 3]],
  ['logprobs', [true]],
  ['top_logprobs', [0, 5, 20], { logprobs: true }],
  ['logit_bias', [{ 50256: -100, 7: 100 }]],
  ['frequency_penalty', [-2, 0.5, 2]],
  ['presence_penalty', [-2, 0.5, 2]],
  ['parallel_tool_calls', [false], { tools: [weather] }],
  ['top_k', [-1, 0, 40]],
  ['min_p', [0, 0.05, 1]],
  ['repetition_penalty', [0.5, 1.1, 10]],
  ['tools', [[weather]]],
  ['tool_choice', ['none', 'required', { type: 'function', function: { name: 'get_weather' } }], { tools: [weather] }],
  ['response_format', [{ type: 'json_object' }]],
  ['response_format', [{ type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' }, strict: true } }]],
];

describe.each([false, true])('stream: %s ·', (stream) => {
  test.each(passed.map(([field, values, beside = {}]) => ({ field, values, beside })))(
    '$field reaches the engine as it was sent: $values',
    async ({ field, values, beside }) => {
      for (const value of values) {
        expect(await received(ask({ stream, ...beside, [field]: value }))).toEqual({
          ...{ ...plain(stream), ...beside, [field]: value },
        });
      }
    },
  );

  test.each<readonly [string, Json]>([
    ['nothing', {}],
    ['n of 1', { n: 1 }],
    ['no logprobs', { logprobs: false }],
    ['penalties of 0', { frequency_penalty: 0, presence_penalty: 0 }],
    ['empty lists', { stop: [], tools: [], logit_bias: {} }],
    ['a choice of no tools', { tool_choice: 'auto', parallel_tool_calls: false }],
    ['plain text', { response_format: { type: 'text' } }],
    ['top_a, which no engine honours', { top_a: 0.5 }],
    ['stream options', { stream_options: { include_usage: false } }],
  ])('%s is nothing to tell the engine', async (_, fields) => {
    expect(await received(ask({ stream, ...fields }))).toEqual(plain(stream));
  });
});

test('a schema format without a schema asks for any object', async () => {
  const { response_format: format } = await received(
    ask({ response_format: { type: 'json_schema', json_schema: { name: 's', strict: true } } }),
  );
  expect(format).toEqual({ type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' } } });
});

test('top_a goes where an operator says that it is honoured', async () => {
  expect(await received(ask({ model: 'test/top-a', top_a: 0.5 }))).toMatchObject({ top_a: 0.5 });
});

test('a parameter goes by the name that the engine has for it', async () => {
  const body = await received(ask({ model: 'test/llamacpp', repetition_penalty: 1.2 }));
  expect(body).toMatchObject({ repeat_penalty: 1.2 });
  expect(body).not.toHaveProperty('repetition_penalty');
});

describe('the output cap', () => {
  test.each([
    ['test/vllm', { max_tokens: 5 }, { max_tokens: 5 }],
    ['test/vllm', { max_completion_tokens: 5 }, { max_tokens: 5 }],
    ['test/vllm', { max_completion_tokens: 5, max_tokens: 9 }, { max_tokens: 5 }],
    ['test/vllm', { max_completion_tokens: null, max_tokens: 5 }, { max_tokens: 5 }],
    ['test/openai', { max_tokens: 5 }, { max_completion_tokens: 5 }],
    ['test/openai', { max_tokens: 9, max_completion_tokens: 5 }, { max_completion_tokens: 5 }],
  ])('%s, asked for %j, is told %j', async (model, fields, expected) => {
    const { max_tokens, max_completion_tokens } = await received(ask({ model, ...fields }));
    expect({ max_tokens, max_completion_tokens }).toEqual({ ...expected });
  });

  test('covers reasoning and answer together', async () => {
    engine.set({ words: 50, reasoningWords: 10 });
    const { choices, usage } = await answered(ask({ max_tokens: 20 }));
    expect(choices).toMatchObject([{ finish_reason: 'length', message: { reasoning: expect.stringMatching(/./) } }]);
    expect(usage).toMatchObject({ completion_tokens: 20 });
  });
});

test.each([
  [{ include_usage: true }, true],
  [{ include_usage: false }, false],
  [{ include_usage: null }, false],
  [{}, false],
  [null, false],
])('a stream with stream_options %j has a usage chunk: %s', async (options, has) => {
  const text = await (await send(ask({ stream: true, stream_options: options }))).text();
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(/"choices":\[\],"usage":\{/.test(text)).toBe(has);
  expect(text.includes('"usage"')).toBe(has);
});

test('an engine that refuses stream_options is sent none', async () => {
  const body = await received(ask({ model: 'test/zai', stream: true, stream_options: { include_usage: true } }));
  expect(body).not.toHaveProperty('stream_options');
});

test('what was asked for shows in the answer', async () => {
  const { choices } = await answered(ask({ n: 2, logprobs: true, top_logprobs: 2 }));
  const logprobs = { content: expect.arrayContaining([expect.objectContaining({ token: expect.any(String) })]) };
  expect(choices).toMatchObject([0, 1].map((index) => ({ index, logprobs })));
  const stopped = await answered(ask({ stop: 'hello' }));
  expect(stopped['choices']).toMatchObject([
    { finish_reason: 'stop', message: { content: expect.stringMatching(/Say $/) } },
  ]);
  const formatted = await answered(ask({ response_format: { type: 'json_object' } }));
  const [choice] = formatted['choices'] as readonly { readonly message: { readonly content: string } }[];
  expect(JSON.parse(choice?.message.content ?? '')).toBeTypeOf('object');
  const [one, same, other] = await Promise.all([1, 1, 2].map((seed) => answered(ask({ seed }))));
  expect(one?.['choices']).toEqual(same?.['choices']);
  expect(one?.['choices']).not.toEqual(other?.['choices']);
});

describe('null is the same as absence', () => {
  const optional = [
    ...['stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'tools', 'tool_choice', 'response_format'],
    ...['reasoning_effort', 'reasoning', 'thinking', 'thinking_budget', 'enable_thinking', 'chat_template_kwargs'],
    ...parameterNames,
    ...['user', 'safety_identifier'],
  ];
  test('in every optional field at once', async () => {
    expect(await received(ask(Object.fromEntries(optional.map((field) => [field, null]))))).toEqual(plain(false));
  });
});

describe('a value that is no good is refused before any engine hears of it', () => {
  const wrong = (field: string, ...values: readonly unknown[]): readonly [string, Json][] =>
    values.map((value) => [field, ask({ [field]: value })]);
  const message = (path: string, ...values: readonly unknown[]): readonly [string, Json][] =>
    values.map((value) => [`messages[1]${path}`, ask({ messages: [user, value] })]);
  const tool = (path: string, value: unknown): readonly [string, Json] => [`tools[0]${path}`, ask({ tools: [value] })];
  test.each<readonly [field: string, body: Json]>([
    ['model', { messages: [user] }],
    ...wrong('model', '', 5, null, ['test/vllm']),
    ['messages', { model: 'test/vllm' }],
    ...wrong('messages', [], 'hi', null, {}),
    ...message('', 'hi', null, []),
    ...message('.role', { content: 'x' }, { role: 'robot', content: 'x' }, { role: 'User', content: 'x' }),
    ...message('.name', { role: 'function', content: 'x' }),
    ...message('.content', { role: 'user' }, { role: 'user', content: [] }, { role: 'system', content: 5 }),
    ...message('.content[0].type', { role: 'user', content: [{ type: 'input_audio' }] }),
    ...message('.content[0].text', { role: 'user', content: [{ type: 'text' }] }),
    ...message('.tool_call_id', { role: 'tool', content: 'x' }),
    ...message('.tool_calls[0].function.arguments', {
      role: 'assistant',
      tool_calls: [{ id: 'a', function: { name: 'f', arguments: {} } }],
    }),
    ...message('.reasoning_content', { role: 'assistant', content: 'x', reasoning_content: 5 }),
    ...message('.reasoning', { role: 'assistant', content: 'x', reasoning: {} }),
    ...wrong('temperature', -0.1, 2.1, '1', true, [1]),
    ...wrong('top_p', -0.1, 1.1, '1'),
    ...wrong('max_tokens', 0, -1, 1.5, '5', 1e12),
    ...wrong('max_completion_tokens', 0, -1, 1.5, '5', 1e12),
    ...wrong('stream', 'true', 1, {}),
    ...wrong('stream_options', true, 'x'),
    ['stream_options.include_usage', ask({ stream_options: { include_usage: 'yes' } })],
    ...wrong('stop', '', 5, {}, ['a', 'b', 'c', 'd', 'e']),
    ['stop[1]', ask({ stop: ['a', 5] })],
    ...wrong('seed', 1.5, '1', 2 ** 60),
    ...wrong('n', 0, 129, 1.5, '1'),
    ...wrong('logprobs', 5, 'true'),
    ...wrong('top_logprobs', 5, -1, 21, 1.5, '1'),
    ...wrong('logit_bias', [1], 'x'),
    ['logit_bias["50256"]', ask({ logit_bias: { 50256: -101 } })],
    ...wrong('frequency_penalty', -2.1, 2.1, '0'),
    ...wrong('presence_penalty', -2.1, 2.1, '0'),
    ...wrong('parallel_tool_calls', 'no', 0),
    ...wrong('top_k', -2, 1.5, '1'),
    ...wrong('min_p', -0.1, 1.1),
    ...wrong('repetition_penalty', 0, -1, 11, '1'),
    ...wrong('top_a', -0.1, 1.1),
    ...wrong(
      'tools',
      {},
      'x',
      Array.from({ length: 1025 }, () => weather),
    ),
    tool('.type', { type: 'web_search' }),
    tool('.function', { type: 'function' }),
    tool('.function.name', { type: 'function', function: { name: 'has spaces' } }),
    tool('.function.parameters', { type: 'function', function: { name: 'f', parameters: [] } }),
    ...wrong('tool_choice', 'any', 5, 'required'),
    [
      'tool_choice.function.name',
      ask({ tools: [weather], tool_choice: { type: 'function', function: { name: 'g' } } }),
    ],
    ...wrong('response_format', 'json_object', 5),
    ['response_format.type', ask({ response_format: { type: 'xml' } })],
    ['response_format.json_schema', ask({ response_format: { type: 'json_schema' } })],
    ['response_format.json_schema.name', ask({ response_format: { type: 'json_schema', json_schema: {} } })],
    ...wrong('reasoning_effort', 'extreme', 5),
    ['reasoning.max_tokens', ask({ reasoning: { max_tokens: -1 } })],
    ['thinking.type', ask({ thinking: { type: 'maybe' } })],
    ...wrong('enable_thinking', 'no'),
    ['chat_template_kwargs.enable_thinking', ask({ chat_template_kwargs: { enable_thinking: 'no' } })],
  ])('%s (%#)', async (field, body) => {
    for (const stream of [false, true]) {
      const refusal = await refused(field === 'stream' ? body : { stream, ...body });
      expect([refusal.field, refusal.code]).toEqual([field, undefined]);
    }
  });
});
