import { BadRequestError } from 'openai';
import { beforeEach, describe, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { demoBackend, demoModel, demoRoute, manifestOf } from './support/catalog-manifest.ts';
import { refusalOf } from './support/refusal.ts';
import { canary, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

type Json = Readonly<Record<string, unknown>>;

const light = 1;
const heavy = 1_000_000;
const nothing = { tools: false, responseFormats: [], parameters: [] };
const whole = { tools: true, responseFormats: ['json_object', 'json_schema'] };
const notStreamed = { ...whole, streamedTools: false, streamedResponseFormats: ['json_object'] };

beforeEach(() => {
  plain.reset();
  able.reset();
});

const user = { role: 'user' as const, content: `${canary} hi` };
const send = (model: string, fields: Json): Promise<Response> =>
  weir.chat({ model: `test/${model}`, messages: [user], ...fields });
const calls = (): { readonly plain: number; readonly able: number } => ({
  plain: plain.requests().length,
  able: able.requests().length,
});

const weather = { type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } };
const tools = { tools: [weather] };

/** `plain` can do little, `able` nearly everything: which of them was called tells how a request was checked. */
const plain = await forFile(startProgrammableEngine({ name: 'alpha', behaviour: { words: 4, reasoningWords: 2 } }));
const able = await forFile(startProgrammableEngine({ name: 'beta', behaviour: { words: 4, reasoningWords: 2 } }));
const over = (name: string, capabilities: Json, weight?: number) => demoRoute(name, capabilities, weight);
const parameters = (...names: readonly string[]): Json => ({ parameters: names });
const catalog = manifestOf(
  ...['vllm', 'dashscope', 'llamacpp', 'deepseek'].map((kind) => demoBackend(kind, plain, kind)),
  demoBackend('able', able, 'vllm'),
  demoModel('nothing', [over('vllm', nothing)]),
  demoModel('two', [over('vllm', nothing, heavy), over('able', {}, light)]),
  demoModel('json-only', [over('vllm', notStreamed)]),
  demoModel('json-or-stream', [over('vllm', notStreamed, heavy), over('able', {}, light)]),
  demoModel('asked', [over('vllm', { toolChoice: ['auto', 'named'] })]),
  demoModel('llamacpp', [over('llamacpp', {})]),
  demoModel('dashscope', [over('dashscope', {})]),
  demoModel('deepseek', [over('deepseek', {})]),
  demoModel('split', [over('vllm', parameters('seed')), over('able', parameters('stop'))]),
  demoModel('cross', [over('vllm', { reasoning: { off: false } }), over('able', { tools: false })]),
  demoModel('fixed', [over('vllm', { reasoning: { off: false } })]),
  demoModel('prefers', [over('vllm', parameters('temperature'), heavy), over('able', {}, light)]),
);
const weir = await forFile(
  startWeir({ engines: [plain, able], manifests: { 'catalog.yaml': catalog }, unlimited: true }),
);
const named = { ...tools, tool_choice: { type: 'function', function: { name: 'get_weather' } } };
const anObject = { response_format: { type: 'json_object' } };
const aSchema = { response_format: { type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' } } } };
const image = {
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.com/a' } }] }],
};

/** A parameter that a caller can demand, with what it does not go without. */
const demands: readonly Json[] = [
  ...[{ stop: 'x' }, { stop: ['x'] }, { seed: 0 }, { n: 2 }, { logprobs: true }, { logit_bias: { 1: 1 } }],
  ...[{ frequency_penalty: 0.1 }, { presence_penalty: -0.1 }],
];

type Refused = readonly [code: string, field: string, model: string, fields: Json];

describe.each([false, true])('stream: %s · refused before any engine is called:', (stream) => {
  test.each<Refused>([
    ['model_not_found', 'model', 'no-such', {}],
    ['variant_not_supported', 'model', 'nothing:free', {}],
    ['variant_not_supported', 'model', 'nothing:online', {}],
    ['modality_not_supported', 'messages', 'nothing', image],
    ['reasoning_not_disableable', 'reasoning_effort', 'fixed', { reasoning_effort: 'none' }],
    ['reasoning_not_disableable', 'reasoning_effort', 'fixed', { enable_thinking: false }],
    ['tools_not_supported', 'tools', 'nothing', tools],
    ['tools_not_supported', 'tools', 'nothing', named],
    ['tools_not_supported', 'tool_choice', 'asked', { ...tools, tool_choice: 'required' }],
    ['tools_not_supported', 'tool_choice', 'dashscope', { ...tools, tool_choice: 'required' }],
    ['response_format_not_supported', 'response_format', 'nothing', anObject],
    ['response_format_not_supported', 'response_format', 'dashscope', aSchema],
    ...demands.map((fields): Refused => ['param_not_supported', Object.keys(fields)[0] ?? '', 'nothing', fields]),
    ['param_not_supported', 'logprobs', 'nothing', { logprobs: true, top_logprobs: 3 }],
    ['param_combination_not_supported', 'stop and seed', 'split', { seed: 1, stop: 'x' }],
    ['param_combination_not_supported', 'tools and reasoning_effort', 'cross', { ...tools, reasoning_effort: 'none' }],
    ['param_combination_not_supported', 'tools and response_format', 'llamacpp', { ...tools, ...aSchema }],
    ['param_combination_not_supported', 'logprobs and reasoning_effort', 'deepseek', { logprobs: true }],
    ['param_combination_not_supported', 'tool_choice and reasoning_effort', 'dashscope', named],
  ])('%s, naming %s', async (code, field, model, fields) => {
    const refusal = await refusalOf(await send(model, { ...fields, stream }));
    expect(refusal).toMatchObject({ code, field });
    expect(refusal.message).not.toContain(canary);
    expect(calls()).toEqual({ plain: 0, able: 0 });
  });

  test.each<readonly [model: string, fields: Json]>([
    ['nothing', { temperature: 0.5, top_p: 0.5, top_k: 5, min_p: 0.1, repetition_penalty: 1.1, top_a: 0.1 }],
    ['nothing', { n: 1, logprobs: false, stop: [], logit_bias: {}, frequency_penalty: 0, presence_penalty: 0 }],
    ['nothing', { ...tools, tool_choice: 'none' }],
    ['nothing', { response_format: { type: 'text' } }],
    ['nothing', { tools: [], parallel_tool_calls: false }],
    ['asked', named],
    ['split', { seed: 1 }],
    ['split', { stop: 'zzz' }],
    ['llamacpp', tools],
    ['llamacpp', aSchema],
    // Alone each would be fine with reasoning off, and so it is.
    ['deepseek', { logprobs: true, reasoning_effort: 'none' }],
    ['dashscope', { ...named, reasoning_effort: 'none' }],
  ])('while test/%s serves %j', async (model, fields) => {
    const response = await send(model, { ...fields, stream });
    expect(response.status, await response.text()).toBe(200);
  });

  test.each<readonly [string, Json]>([
    ['tools', tools],
    ['a named tool', named],
    ['a schema', aSchema],
    ['an object', anObject],
    ...demands.map((fields) => [JSON.stringify(fields), fields] as const),
    ['calls one at a time', { ...tools, parallel_tool_calls: false }],
  ])('%s: only the route that can is called, however light, and when it fails no other', async (_, fields) => {
    for (let round = 0; round < 3; round += 1) {
      const response = await send('two', { ...fields, stream });
      expect(response.status, await response.text()).toBe(200);
    }
    expect(calls()).toEqual({ plain: 0, able: 3 });
    able.set({ status: 500, times: 1 });
    const failed = await send('two', { ...fields, stream });
    expect([failed.status, await failed.json()]).toEqual([
      ...[502, { error: { message: expect.any(String), type: 'service_error' } }],
    ]);
    expect(calls().plain).toBe(0);
  });

  test.each(['top_k', 'min_p', 'repetition_penalty', 'top_p'])(
    'a route that honours %s is preferred, and the others still serve when it fails',
    async (name) => {
      const ask = async (): Promise<number> => (await send('prefers', { [name]: 0.5 * 2, stream })).status;
      expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 200]);
      expect(calls()).toEqual({ plain: 0, able: 3 });
      able.set({ status: 500, times: 1 });
      expect(await ask()).toBe(200);
      expect(calls().plain).toBe(1);
      expect(plain.requests().at(-1)?.body).not.toHaveProperty(name);
    },
  );

  test('what every route honours leaves the choice to the weights', async () => {
    expect((await send('prefers', { temperature: 0.5, stream })).status).toBe(200);
    expect(calls()).toEqual({ plain: 1, able: 0 });
  });
});

describe('the transport counts:', () => {
  test.each<readonly [code: string, field: string, fields: Json]>([
    ['tools_not_supported', 'tools', tools],
    ['response_format_not_supported', 'response_format', aSchema],
  ])('what works in one piece only is %s on a stream', async (code, field, fields) => {
    expect((await send('json-only', fields)).status).toBe(200);
    plain.reset();
    const refusal = await refusalOf(await send('json-only', { ...fields, stream: true }));
    expect(refusal).toMatchObject({ code, field });
    expect(calls()).toEqual({ plain: 0, able: 0 });
    expect((await send('json-or-stream', fields)).status).toBe(200);
    expect((await send('json-or-stream', { ...fields, stream: true })).status).toBe(200);
    expect(calls()).toEqual({ plain: 1, able: 1 });
  });

  test('a format that streams is served on a stream', async () => {
    expect((await send('json-only', { ...anObject, stream: true })).status).toBe(200);
  });
});

test.each([false, true])('an engine’s own refusal of the context is the caller’s, stream: %s', async (stream) => {
  plain.set({ contextLength: 4 });
  const refusal = await refusalOf(await send('nothing', { stream }));
  expect(refusal.code).toBe('context_length_exceeded');
});

test('a cap beyond the window is refused before any engine is called', async () => {
  const refusal = await refusalOf(await send('nothing', { max_tokens: 131_073 }));
  expect(refusal.code).toBe('context_length_exceeded');
  expect(calls()).toEqual({ plain: 0, able: 0 });
});

test('the official client gets each as a BadRequestError with its code', async () => {
  const failure = weir
    .client()
    .chat.completions.create({ model: 'test/nothing', messages: [user], seed: 1, stream: true })
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  const error = await failure;
  expect(error).toBeInstanceOf(BadRequestError);
  expect(error).toMatchObject({ status: 400, code: 'param_not_supported', type: 'invalid_request_error' });
});

test('a refusal is billed nothing', async () => {
  const before = (await weir.ledger()).length;
  for (const fields of [tools, anObject, { seed: 1 }]) await refusalOf(await send('nothing', fields));
  await weir.settled();
  expect((await weir.ledger()).length).toBe(before);
});
