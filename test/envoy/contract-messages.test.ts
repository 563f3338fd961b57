import { beforeEach, describe, expect, test } from 'vitest';
import { demoModel, demoRoute } from './support/catalog-manifest.ts';
import { startContractGateway } from './support/contract-gateway.ts';
import { refusalOf } from './support/refusal.ts';
import { canary } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

type Json = Readonly<Record<string, unknown>>;

const kinds = ['vllm', 'openai', 'deepseek', 'fireworks', 'tgi'] as const;

const gateway = await forFile(
  startContractGateway({
    kinds,
    models: [demoModel('image', [demoRoute('vllm')], { inputModalities: ['text', 'image'] })],
  }),
);
const { engine } = gateway;
beforeEach(() => engine.reset());

const user = { role: 'user', content: `${canary} hi` };
const send = (body: object): Promise<Response> => gateway.send(body);

/** Sends a body that is to be served; resolves with what the engine got and what the caller was told. */
async function served(body: Json): Promise<{ readonly got: Json; readonly response: Response; readonly text: string }> {
  const response = await send({ model: 'test/vllm', messages: [user], ...body });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return { got: engine.requests().at(-1)?.body as Json, response, text };
}

const messagesOf = async (messages: readonly unknown[], model = 'test/vllm'): Promise<unknown> =>
  (await served({ model, messages })).got['messages'];
const textPart = (text: string, more: Json = {}): Json => ({ type: 'text', text, ...more });

describe('what messages become', () => {
  test.each<readonly [string, Json, Json]>([
    ['system stays', { role: 'system', content: 'Be brief.' }, { role: 'system', content: 'Be brief.' }],
    ['developer is system', { role: 'developer', content: 'Be brief.' }, { role: 'system', content: 'Be brief.' }],
    ['a name is kept', { ...user, name: 'ann' }, { ...user, name: 'ann' }],
    ...['system', 'user', 'assistant'].map(
      (role) =>
        [
          `text parts of ${role} are one string`,
          { role, content: [textPart('one '), textPart('two', { cache_control: { type: 'ephemeral' } })] },
          { role, content: 'one two' },
        ] as const,
    ),
    [
      'a replayed refusal is text',
      { role: 'assistant', content: [textPart('no: '), { type: 'refusal', refusal: 'never' }] },
      { role: 'assistant', content: 'no: never' },
    ],
  ])('%s', async (_, message, expected) => {
    expect(await messagesOf([message, user])).toEqual([expected, user]);
  });

  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a": 1}' } };
  test('calls and their results are replayed as they were, results as strings', async () => {
    const result = { role: 'tool', tool_call_id: 'call_1', content: [textPart('sun'), textPart('ny')] };
    const calling = { role: 'assistant', content: null, tool_calls: [{ ...call, cache_control: {} }] };
    expect(await messagesOf([user, calling, result])).toEqual([
      ...[user, { role: 'assistant', content: null, tool_calls: [call] }],
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
    ]);
  });

  const trace = 'First, the weather.\n\n';
  test.each([
    ['test/vllm', { reasoning: trace }],
    ['test/deepseek', { reasoning_content: trace }],
    ['test/fireworks', { reasoning_content: trace }],
    ['test/openai', {}],
    ['test/tgi', {}],
  ])('a replayed trace goes to %s in its one field, whichever it came in: %j', async (model, expected) => {
    for (const given of [
      { reasoning_content: trace },
      { reasoning: trace },
      { reasoning_content: trace, reasoning: 'something else' },
      { reasoning_content: null, reasoning: trace },
    ]) {
      const turn = { role: 'assistant', content: null, tool_calls: [call] };
      const result = { role: 'tool', tool_call_id: 'call_1', content: 'sunny' };
      expect(await messagesOf([user, { ...turn, ...given }, result], model)).toEqual([
        ...[user, { ...turn, ...expected }, result],
      ]);
    }
  });
});

describe('image parts', () => {
  const url = 'https://example.com/cat.png';
  const data = 'data:image/png;base64,iVBORw0KGgo=';
  const withImage = (image: unknown): Json => ({
    role: 'user',
    content: [textPart('what?'), { type: 'image_url', image_url: image }],
  });

  test.each([
    [{ url }, { url }],
    [url, { url }],
    [
      { url: data, detail: 'high' },
      { url: data, detail: 'high' },
    ],
    [{ url, detail: null }, { url }],
  ])('%j reaches the engine of an image model', async (image, expected) => {
    expect(await messagesOf([withImage(image)], 'test/image')).toEqual([withImage(expected)]);
  });

  test.each([false, true])('are refused on a text model, stream: %s', async (stream) => {
    const refusal = await refusalOf(await send({ model: 'test/vllm', messages: [user, withImage(url)], stream }));
    expect(refusal).toMatchObject({ code: 'modality_not_supported', field: 'messages' });
    expect(engine.requests()).toEqual([]);
  });

  test.each([
    [{ url: 'ftp://example.com/cat.png' }, 'messages[0].content[1].image_url.url'],
    [{ url: 'file:///etc/passwd' }, 'messages[0].content[1].image_url.url'],
    [{ url, detail: 'huge' }, 'messages[0].content[1].image_url.detail'],
    [{}, 'messages[0].content[1].image_url.url'],
  ])('%j is no image', async (image, field) => {
    const refusal = await refusalOf(await send({ model: 'test/image', messages: [withImage(image)] }));
    expect(refusal).toMatchObject({ code: undefined, field });
    expect(engine.requests()).toEqual([]);
  });
});

describe.each([false, true])('stream: %s · fields that nobody knows', (stream) => {
  test('are ignored wherever they stand, and never forwarded', async () => {
    const extra = { cache_control: { type: 'ephemeral' }, unknown_key: { deep: [canary] } };
    const schema = { type: 'object', properties: { unknown_key: { type: 'string' } } };
    const fields = {
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Be brief.', ...extra }], ...extra },
        { role: 'user', content: 'hi', ...extra },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: schema, ...extra }, ...extra }],
      stream_options: { include_usage: true, ...extra },
      response_format: { type: 'text', ...extra },
      reasoning: { effort: 'high', ...extra },
      chat_template_kwargs: { enable_thinking: true, ...extra },
    };
    const { got, response } = await served({ stream, ...fields, ...extra });
    expect(JSON.stringify(got)).not.toMatch(/cache_control|CANARY/);
    // A schema is the caller's own: what it says is no field of ours.
    expect(got['tools']).toEqual([{ type: 'function', function: { name: 'f', parameters: schema } }]);
    expect(response.headers.get('x-service-inert-params')).toBeNull();
  });

  test('but that other gateways act on are named, in the order they came', async () => {
    const inert = {
      ...{ usage: { include: true }, provider: { order: ['a'] }, models: ['b'], transforms: [], route: 'fallback' },
      ...{ plugins: [], metadata: { a: 'b' }, store: true, service_tier: 'auto' },
    };
    const { got, response, text } = await served({ stream, ...inert, other: 1 });
    expect(response.headers.get('x-service-inert-params')).toBe(Object.keys(inert).join(', '));
    for (const name of Object.keys(inert)) expect(got).not.toHaveProperty(name);
    // The flag of another gateway changes nothing (docs/reference/api.md §2.4).
    expect(text.includes('"usage"')).toBe(!stream);
  });

  test('that name the end user are taken and go nowhere', async () => {
    const who = `end-user-${canary}`;
    const fields = { user: who, safety_identifier: who, metadata: { user_id: who } };
    const { got, text } = await served({ stream, messages: [{ role: 'user', content: 'hi' }], ...fields });
    expect(JSON.stringify(got) + JSON.stringify(engine.requests().at(-1)?.headers)).not.toContain(canary);
    expect(text).not.toContain(canary);
  });
});

describe('a model id', () => {
  test.each([
    'test/vllm',
    'TEST/vLLM',
    'test/vllm:nitro',
    'test/vllm:floor',
    'Test/Vllm:NITRO',
    'test/vllm:nitro:floor',
  ])('%s is the model, and the answer says its own id', async (model) => {
    for (const stream of [false, true]) {
      const { got, text } = await served({ model, stream });
      expect(got['model']).toBe('demo-chat');
      expect(new Set(Array.from(text.matchAll(/"model":"([^"]*)"/g), ([, id]) => id))).toEqual(new Set(['test/vllm']));
    }
  });

  test.each([
    ['test/vllm:free', 'variant_not_supported'],
    ['test/vllm:online', 'variant_not_supported'],
    ['test/vllm:ONLINE', 'variant_not_supported'],
    ['test/vllm:thinking', 'variant_not_supported'],
    ['test/vllm:', 'variant_not_supported'],
    ['test/vllm:nitro:free', 'variant_not_supported'],
    ['no/such:free', 'variant_not_supported'],
    ['no/such', 'model_not_found'],
    ['no/such:nitro', 'model_not_found'],
    ['vllm', 'model_not_found'],
    ['__proto__', 'model_not_found'],
    [' test/vllm', 'model_not_found'],
  ])('%s is %s', async (model, code) => {
    const refusal = await refusalOf(await send({ model, messages: [user] }));
    expect(refusal).toMatchObject({ code, field: 'model' });
    expect(engine.requests()).toEqual([]);
  });
});
