import {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
} from 'openai';
import { beforeEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { runWeir } from '../support/run-weir.ts';
import { canary, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ name: 'alpha' }));
const weir = await forFile(startWeir({ engines: [engine] }));
beforeEach(() => engine.reset());

const ask = (text: string) => ({
  model: 'test/model',
  messages: [{ role: 'user' as const, content: `${canary} ${text}` }],
});
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

test('a client gets a whole answer in the contract’s shape, with usage and its exact cost', async () => {
  const { data, response } = await weir.client().chat.completions.create(ask('Say hello')).withResponse();
  expect(data).toMatchObject({ object: 'chat.completion', model: 'test/model' });
  expect(data.id).toMatch(/^chatcmpl-[\w-]{22}$/);
  const [choice] = data.choices;
  expect(choice).toMatchObject({ index: 0, finish_reason: 'stop', message: { role: 'assistant' } });
  expect(choice?.message.content).not.toBe('');
  const traces = choice?.message as unknown as { reasoning: string; reasoning_content: string };
  expect(traces.reasoning).toBe(traces.reasoning_content);
  expect(traces.reasoning).not.toBe('');
  const usage = data.usage as unknown as Record<string, number>;
  const { prompt_tokens: prompt = 0, completion_tokens: completion = 0 } = usage;
  expect(usage['total_tokens']).toBe(prompt + completion);
  const cached = data.usage?.prompt_tokens_details?.cached_tokens ?? 0;
  const cost = (
    BigInt(prompt - cached) * 150_000n +
    BigInt(cached) * 30_000n +
    BigInt(completion) * 600_000n
  ).toString();
  expect(usage['cost']).toBe(Number(`${cost}e-12`));
  expect(response.headers.get('x-request-id')).toBeTruthy();
});

test('a stream is the same message in pieces: one id, one role, one finish, usage on the last chunk, then [DONE]', async () => {
  const whole = await weir.client().chat.completions.create({ ...ask('Tell me about rivers'), seed: 1 });
  const stream = await weir.client().chat.completions.create({
    ...{ ...ask('Tell me about rivers'), seed: 1, stream: true as const },
    stream_options: { include_usage: true },
  });
  const ids = new Set<string>();
  let text = '';
  let roles = 0;
  let finishes = 0;
  const usages: unknown[] = [];
  for await (const chunk of stream) {
    ids.add(chunk.id);
    expect(chunk.model).toBe('test/model');
    const [choice] = chunk.choices;
    text += choice?.delta.content ?? '';
    if (choice?.delta.role !== undefined) roles += 1;
    if (choice?.finish_reason) finishes += 1;
    if (chunk.usage) usages.push({ usage: chunk.usage, choices: chunk.choices });
    else expect(chunk.usage).toBeNull();
  }
  expect(text).toBe(whole.choices[0]?.message.content);
  expect({ ids: ids.size, roles, finishes }).toEqual({ ids: 1, roles: 1, finishes: 1 });
  expect(usages).toEqual([{ choices: [], usage: expect.objectContaining({ cost: expect.any(Number) }) }]);
});

test('without include_usage a stream has no usage at all', async () => {
  const text = await (await weir.chat({ ...ask('hi'), stream: true })).text();
  expect(text).not.toContain('usage');
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
});

test('the stream helper puts the message together', async () => {
  const message = await weir.client().chat.completions.stream(ask('[[words=40]]')).finalChatCompletion();
  expect(message.choices[0]?.finish_reason).toBe('stop');
  expect(message.choices[0]?.message.content?.split(' ').length).toBeGreaterThan(20);
});

test.each([false, true])('tools are called and answered, stream: %s', async (stream) => {
  const request = { ...ask('Weather in Paris?'), tools: [weather], tool_choice: 'required' as const };
  const client = weir.client();
  const first = stream
    ? await client.chat.completions.stream(request).finalChatCompletion()
    : await client.chat.completions.create(request);
  const message = first.choices[0]?.message;
  expect(first.choices[0]?.finish_reason).toBe('tool_calls');
  const [call] = message?.tool_calls ?? [];
  if (message === undefined || call?.type !== 'function') throw new Error('expected a function call');
  expect(call.id).toMatch(/^call_/);
  expect(call.function.name).toBe('get_weather');
  expect(JSON.parse(call.function.arguments)).toHaveProperty('city');
  const second = await client.chat.completions.create({
    model: 'test/model',
    messages: [...request.messages, message, { role: 'tool', tool_call_id: call.id, content: `${canary} sunny` }],
    tools: [weather],
  });
  expect(second.choices[0]?.finish_reason).toBe('stop');
  expect(second.choices[0]?.message.content).not.toBe('');
});

test('an aborted stream is closed upstream, and what was delivered is recorded', async () => {
  engine.set({ tokenDelayMs: 20 });
  const controller = new AbortController();
  const stream = await weir
    .client()
    .chat.completions.create({ ...ask('[[words=5000]]'), stream: true }, { signal: controller.signal });
  let seen = 0;
  for await (const _ of stream) if ((seen += 1) === 5) controller.abort();
  await engine.until(() => engine.openRequests() === 0);
  expect(engine.requests().at(-1)?.aborted).toBe(true);
  await weir.settled();
  const [row] = await weir.ledger();
  expect(row).toMatchObject({ outcome: 'cancelled', model: 'test/model' });
  expect(Number(row?.['completion_tokens'] ?? row?.['completionTokens'])).toBeGreaterThan(0);
});

test('the model list is the catalog, open to every origin', async () => {
  const models = await weir.client().models.list();
  expect(models.data).toEqual([
    expect.objectContaining({
      ...{ id: 'test/model', object: 'model', owned_by: 'test', context_length: 131_072, input_modalities: ['text'] },
      pricing: { prompt: '0.00000015', completion: '0.0000006', input_cache_read: '0.00000003' },
    }),
  ]);
  const response = await weir.fetch(`${weir.baseUrl}/models`, { headers: { origin: 'https://example.com' } });
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  await response.text();
  const preflight = await weir.fetch(`${weir.baseUrl}/models`, {
    method: 'OPTIONS',
    headers: { origin: 'https://example.com', 'access-control-request-method': 'GET' },
  });
  expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, 'GET, HEAD']);
});

test('liveness is answered by the service itself', async () => {
  const response = await weir.fetch(`${weir.origin}/healthz`);
  expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
});

test.each(['/healthz', '/v1/models'])('HEAD %s is answered like GET, without a body', async (path) => {
  const response = await weir.fetch(`${weir.origin}${path}`, { method: 'HEAD' });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  expect(await response.text()).toBe('');
  // The connection is good for the next request.
  expect((await weir.fetch(`${weir.origin}${path}`)).status).toBe(200);
});

test('a model is not to be had by its own address, whichever way its slash is written', async () => {
  for (const path of ['/v1/models/demo/chat', '/v1/models/demo%2Fchat']) {
    const response = await weir.fetch(`${weir.origin}${path}`);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ error: { message: expect.any(String), type: 'invalid_request_error' } });
  }
});

test.each([
  ['GET', '/v1/chat/completions'],
  ['POST', '/v1/models'],
  ['POST', '/v1/completions'],
  ['GET', '/'],
  ['DELETE', '/healthz'],
])('%s %s is 404 in the envelope', async (method, path) => {
  const response = await weir.fetch(`${weir.origin}${path}`, { method });
  expect(response.status).toBe(404);
  expect(await response.json()).toEqual({ error: { message: expect.any(String), type: 'invalid_request_error' } });
});

async function failureOf(run: Promise<unknown>): Promise<APIError> {
  const error: unknown = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof APIError) return error;
  throw new Error(`expected an APIError, got ${String(error)}`);
}

test('each error is the class that the official client knows', async () => {
  const complete = (fields: object, apiKey?: string) =>
    failureOf(weir.client(apiKey === undefined ? {} : { apiKey }).chat.completions.create({ ...ask('hi'), ...fields }));
  const bad = await complete({ temperature: 9 });
  expect(bad).toBeInstanceOf(BadRequestError);
  expect(bad.message).toContain('temperature');
  expect(await complete({ model: 'no/such' })).toMatchObject({ status: 400, code: 'model_not_found' });
  expect(await complete({ model: 'test/model:free' })).toMatchObject({ status: 400, code: 'variant_not_supported' });
  expect(await complete({}, 'sk-weir-nonsense')).toBeInstanceOf(AuthenticationError);
  expect(await complete({}, `${weir.key.slice(0, -1)}${weir.key.endsWith('a') ? 'b' : 'a'}`)).toBeInstanceOf(
    AuthenticationError,
  );
  expect(await failureOf(weir.client().completions.create({ model: 'test/model', prompt: 'x' }))).toBeInstanceOf(
    NotFoundError,
  );
  engine.set({ status: 500 });
  const failed = await complete({});
  expect(failed).toBeInstanceOf(InternalServerError);
  expect(failed).toMatchObject({ status: 502, type: 'service_error', code: undefined });
});

test('a suspended key is 403 with the contact, a revoked one 401, an empty balance 402', async () => {
  const made = await runWeir(['key', 'create', '--workspace', 'demo', '--json', '--data', weir.data]);
  const { id, key } = JSON.parse(made.stdout) as { readonly id: string; readonly key: string };
  const status = async (): Promise<number> => (await weir.chat(ask('hi'), { authorization: `Bearer ${key}` })).status;
  expect(await status()).toBe(200);
  await runWeir(['key', 'suspend', id, '--data', weir.data]);
  await expect.poll(status).toBe(403);
  const error = await failureOf(weir.client({ apiKey: key }).chat.completions.create(ask('hi')));
  expect(error).toBeInstanceOf(PermissionDeniedError);
  expect(error.message).toContain('abuse@example.com');
  await runWeir(['key', 'revoke', id, '--data', weir.data]);
  await expect.poll(status).toBe(401);
  await runWeir(['workspace', 'create', 'poor', '--credit', '0', '--data', weir.data]);
  const poor = await runWeir(['key', 'create', '--workspace', 'poor', '--json', '--data', weir.data]);
  const { key: poorKey } = JSON.parse(poor.stdout) as { readonly key: string };
  expect((await weir.chat(ask('hi'), { authorization: `Bearer ${poorKey}` })).status).toBe(402);
});

test('a broken body is 400 and names the field', async () => {
  const message = async (body: string): Promise<string> => {
    const response = await weir.chat(body);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; type: string } };
    expect(error.type).toBe('invalid_request_error');
    return error.message;
  };
  expect(await message('{"model":')).toContain('JSON');
  expect(await message('[]')).toContain('object');
  expect(await message('{"messages":[]}')).toContain('model');
  expect(await message('{"model":"test/model"}')).toContain('messages');
  expect(await message('{"model":"test/model","messages":[{"role":"user"}]}')).toContain('messages[0].content');
  expect(await message('{"model":"test/model","messages":[{"role":"owl","content":""}]}')).toContain(
    'messages[0].role',
  );
});
