import type OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { checkResponsesStream } from '../support/responses-stream-checker.ts';
import { backendManifest, canary, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

type Ask = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>;
type Output = OpenAI.Responses.ResponseOutputItem;
type Item = OpenAI.Responses.ResponseInputItem;

const engine = await forFile(startProgrammableEngine({ name: 'alpha' }));
const manifest = [
  backendManifest('backend-of-test-0', engine),
  modelManifest('test/model', ['backend-of-test-0']),
  modelManifest('test/seeing', ['backend-of-test-0'], '  inputModalities: [text, image]'),
];
const weir = await forFile(
  startWeir({
    ...{ engines: [engine], manifests: { 'catalog.yaml': manifest.join('') } },
    env: { WEIR_RESPONSES: 'stateless' },
  }),
);
const client = weir.client();
beforeEach(() => engine.reset());

const ask = (text: string, more: Partial<Ask> = {}): Ask => ({
  ...{ model: 'test/model', input: `${canary} ${text}` },
  ...more,
});
const quiet = { reasoning: { effort: 'none' } } as const;
const parameters = (field: string) => ({
  ...{ type: 'object', properties: { [field]: { type: 'string' } }, required: [field], additionalProperties: false },
});
const look: OpenAI.Responses.FunctionTool = {
  ...{ type: 'function', name: 'get_weather', parameters: parameters('city'), strict: true },
};

/** What the engine was asked last. */
const asked = () =>
  engine.requests().at(-1)?.body as { readonly messages: readonly Readonly<Record<string, unknown>>[] } & Readonly<
    Record<string, unknown>
  >;

/** The extra field that no client library has a type for. */
const costOf = (usage: object | undefined): unknown => (usage as { readonly cost?: unknown }).cost;

const send = (method: string, path: string, body?: object): Promise<Response> =>
  weir.fetch(`${weir.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${weir.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

test('a client gets a whole response in its shape, with usage and its exact cost, and one row of the ledger', async () => {
  const response = await client.responses.create(ask('Say hello', { max_output_tokens: 200, temperature: 0.5 }));
  expect(response).toMatchObject({
    ...{ object: 'response', model: 'test/model', status: 'completed', store: false, error: null },
    ...{ previous_response_id: null, max_output_tokens: 200, temperature: 0.5, tool_choice: 'auto' },
  });
  expect(response.id).toMatch(/^resp_[\w-]{22}$/);
  expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
  expect(response.output_text).not.toBe('');
  expect(costOf(response.usage)).toBeGreaterThan(0);
  await weir.settled();
  const row = (await weir.ledger()).find(({ id }) => id === response.id);
  expect(row).toMatchObject({
    ...{ surface: 'responses', outcome: 'completed', prompt_tokens: response.usage?.input_tokens },
    completion_tokens: response.usage?.output_tokens,
  });
  expect(Number(row?.['cost'])).toBe(costOf(response.usage));
});

test('a stream says the same as the answer in one piece', async () => {
  const whole = await client.responses.create(ask('Tell me about rivers [[words=40]]'));
  const events: string[] = [];
  const stream = client.responses.stream(ask('Tell me about rivers [[words=40]]'));
  for await (const event of stream) events.push(event.type);
  const final = await stream.finalResponse();
  expect(final.output_text).toBe(whole.output_text);
  expect(final.output.map(({ type }) => type)).toEqual(whole.output.map(({ type }) => type));
  expect(final.usage?.output_tokens).toBe(whole.usage?.output_tokens);
  expect(events.slice(0, 3)).toEqual(['response.created', 'response.in_progress', 'response.output_item.added']);
  expect(events.at(-1)).toBe('response.completed');
});

test('a schema is honoured, and parsed by the client', async () => {
  engine.set({ content: '{"name": "Rhine", "km": 1230}' });
  const format = zodTextFormat(z.object({ name: z.string(), km: z.number() }), 'river');
  const response = await client.responses.parse({ ...ask('Which river?', quiet), text: { format } });
  expect(response.output_parsed).toEqual({ name: 'Rhine', km: 1230 });
  expect(asked()['response_format']).toMatchObject({
    type: 'json_schema',
    json_schema: { name: 'river', strict: true },
  });
});

test.each([false, true])('a loop of tools keeps its reasoning without anything stored, stream: %s', async (stream) => {
  const input: Item[] = [{ role: 'user', content: `${canary} get_weather and patch, please.` }];
  const patch: OpenAI.Responses.CustomTool = {
    ...{ type: 'custom', name: 'patch', description: 'Patches.' },
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
  };
  const params: Ask = {
    ...{ model: 'test/model', input, tools: [look, patch], store: false },
    include: ['reasoning.encrypted_content'],
  };
  engine.set({ callTools: ['get_weather', 'patch'], reasoning: 'always' });
  const first = stream ? await client.responses.stream(params).finalResponse() : await client.responses.create(params);
  const output: readonly Output[] = first.output;
  const calls = output.filter((item) => item.type === 'function_call' || item.type === 'custom_tool_call');
  expect(calls.map(({ type, name }) => [type, name])).toEqual([
    ['function_call', 'get_weather'],
    ['custom_tool_call', 'patch'],
  ]);
  const [thought] = output.filter((item) => item.type === 'reasoning');
  const trace = thought?.content?.map(({ text }) => text).join('') ?? '';
  expect(trace).not.toBe('');
  expect(thought?.encrypted_content).toMatch(/^[\w-]{80,}$/);

  engine.reset();
  input.push(
    // What clients send that do not keep the trace: the sealed copy is enough.
    ...output.map((item) => (item.type === 'reasoning' ? { ...item, content: [] } : item) as Item),
    ...calls.map((call): Item =>
      call.type === 'function_call'
        ? { type: 'function_call_output', call_id: call.call_id, output: 'Sunny.' }
        : { type: 'custom_tool_call_output', call_id: call.call_id, output: 'Done.' },
    ),
  );
  const second = await client.responses.create({ ...params, input });
  expect(second.status).toBe('completed');
  const [, assistant, ...results] = asked().messages;
  expect(assistant).toMatchObject({
    role: 'assistant',
    reasoning: trace,
    tool_calls: calls.map(() => ({ id: expect.stringMatching(/^call_[0-9a-f]{9}$/) as string })),
  });
  // The engine gets its own ids back, which the caller has never seen.
  const ids = ((assistant?.['tool_calls'] ?? []) as { id: string }[]).map(({ id }) => id);
  expect(calls.filter(({ call_id: id }) => ids.includes(id))).toEqual([]);
  expect(results.slice(0, 2)).toEqual(
    ids.map((id, at) => ({ role: 'tool', tool_call_id: id, content: ['Sunny.', 'Done.'][at] })),
  );
});

test('a trace that was changed is left out, and the conversation goes on', async () => {
  const encrypted = 'A'.repeat(200);
  const input: Item[] = [
    { role: 'user', content: canary },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: encrypted },
    { role: 'assistant', content: 'Hm.' },
    { role: 'user', content: 'Go on.' },
  ];
  expect((await client.responses.create({ model: 'test/model', input })).status).toBe('completed');
  expect(asked().messages[1]).toEqual({ role: 'assistant', content: 'Hm.' });
});

test('images reach the models that see, and others refuse them', async () => {
  const image = 'data:image/png;base64,iVBORw0KGgo=';
  const input: Item[] = [
    {
      role: 'user',
      content: [
        { type: 'input_image', detail: 'auto', image_url: image },
        { type: 'input_text', text: canary },
      ],
    },
  ];
  await client.responses.create({ model: 'test/seeing', input });
  expect(JSON.stringify(asked().messages)).toContain(image);
  await expect(client.responses.create({ model: 'test/model', input })).rejects.toMatchObject({
    ...{ status: 400, code: 'modality_not_supported' },
  });
});

describe('what cannot be kept or run is named', () => {
  test.each<readonly [string, Partial<Ask>, string | undefined, string]>([
    ['an earlier answer', { previous_response_id: 'resp_1' }, 'param_not_supported', 'previous_response_id: '],
    ['a conversation', { conversation: 'conv_1' }, 'param_not_supported', 'conversation: '],
    ['the background', { background: true }, 'param_not_supported', 'background: '],
    [
      'a hosted tool',
      { tools: [{ type: 'file_search', vector_store_ids: [] }] },
      undefined,
      'tools[0].type: file_search ',
    ],
    ['web search', { tools: [{ type: 'web_search' }] }, 'web_search_unavailable', 'tools: web search '],
    ['a model that is not there', { model: 'test/none' }, 'model_not_found', 'model: '],
  ])('%s is refused', async (_, more, code, message) => {
    const refused = client.responses.create(ask('', more));
    await expect(refused).rejects.toMatchObject({ status: 400, code, type: 'invalid_request_error' });
    await expect(refused).rejects.toThrow(message);
  });

  test('fields without effect are named in a header', async () => {
    const inert = {
      store: true,
      service_tier: 'flex',
      metadata: { a: 'b' },
      user: canary,
      truncation: 'auto',
    } as const;
    const { data, response } = await client.responses.create(ask('Hi.', inert)).withResponse();
    expect(response.headers.get('x-service-inert-params')?.split(', ').toSorted()).toEqual([
      'service_tier',
      'store',
      'truncation',
    ]);
    expect(data).toMatchObject({ store: false, metadata: {} });
    expect(JSON.stringify({ ...asked(), messages: [] })).not.toContain(canary);
  });

  test.each([
    'GET /responses/resp_1',
    'DELETE /responses/resp_1',
    'POST /responses/resp_1/cancel',
    'POST /responses/compact',
    'GET /responses',
  ])('%s is 404', async (asks) => {
    const [method = '', path = ''] = asks.split(' ');
    const response = await send(method, path, method === 'POST' ? {} : undefined);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      error: {
        message: `There is nothing at ${method} /v1${path}. The API has POST /v1/chat/completions, POST /v1/messages, POST /v1/responses, GET /v1/models and GET /healthz.`,
        type: 'invalid_request_error',
      },
    });
  });
});

test('the cap ends a response as incomplete, and a refusal completes it', async () => {
  const capped = await client.responses.create(ask('Tell me [[words=100]]', { ...quiet, max_output_tokens: 5 }));
  expect(capped).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
  engine.set({ refusal: 'field' });
  const refused = await client.responses.create(ask('Do harm.', quiet));
  expect(refused).toMatchObject({ status: 'completed', output: [{ content: [{ type: 'refusal' }] }] });
});

test('a stream that breaks raises an error in the client, after the text that was delivered', async () => {
  engine.set({ fault: 'cut', at: { events: 6 } });
  const response = await send('POST', '/responses', { ...ask('Go on [[words=50]]', quiet), stream: true });
  const text = await response.text();
  const checked = checkResponsesStream(text);
  expect(checked).toMatchObject({ status: 'failed', error: { code: 'stream_interrupted', type: 'service_error' } });
  await expect(client.responses.stream(ask('Go on [[words=50]]', quiet)).finalResponse()).rejects.toMatchObject({
    code: 'stream_interrupted',
  });
});

test('a silent stream begins with its start, and is kept alive by an event that clients count', async () => {
  const own = await startWeir({
    engines: [engine],
    env: { WEIR_RESPONSES: 'stateless', WEIR_KEEP_ALIVE_SECONDS: '1' },
  });
  engine.set({ firstTokenDelayMs: 2_400 });
  const response = await own.fetch(`${own.baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...ask('Hi.', quiet), stream: true }),
  });
  const text = await response.text();
  expect(text).toMatch(
    /^event: response\.created\n.*\n\nevent: response\.in_progress\n.*\n\nevent: response\.in_progress\n/,
  );
  expect(checkResponsesStream(text).status).toBe('completed');
  await own.close();
});

test('off, the path is answered byte for byte like any unknown one', async () => {
  const off = await startWeir({ engines: [engine] });
  const at = async (path: string, method = 'POST'): Promise<readonly [number, unknown, string]> => {
    const response = await off.fetch(`${off.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${off.key}`, 'content-type': 'application/json', 'x-request-id': 'same' },
      ...(method === 'POST' ? { body: JSON.stringify(ask('Hi.')) } : {}),
    });
    const headers = [...response.headers].filter(([name]) => name !== 'date');
    return [response.status, headers, (await response.text()).replaceAll(path, '/unknown')];
  };
  // Names of one length, since the length of the body is a header.
  for (const method of ['POST', 'GET']) {
    const [responses, unknown] = [await at('/responses', method), await at('/requested', method)];
    expect(responses[0]).toBe(404);
    expect(responses).toEqual(unknown);
  }
  await off.close();
});
