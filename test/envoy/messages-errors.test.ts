import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  ContentTooLargeError,
  InternalServerError,
  NotFoundError,
  PaymentRequiredError,
  PermissionDeniedError,
  RateLimitError,
} from '@anthropic-ai/sdk';
import { beforeEach, describe, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { checkMessagesStream } from '../support/messages-stream-checker.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, canary, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ name: 'alpha' }));
const one = backendManifest('backend-of-test-one', engine).replace(
  'spec: {',
  'spec: {capacity: {maxConcurrentRequests: 1}, ',
);
const limited = modelManifest('test/limited', ['backend-of-test-0']).replace(
  'weight: 1000',
  'weight: 1000, capabilities: {tools: false, parameters: [temperature]}',
);
const always = modelManifest('test/always', ['backend-of-test-0']).replace('mode: Optional', 'mode: Always');
const manifest = [
  ...[backendManifest('backend-of-test-0', engine), one, limited, always],
  modelManifest('test/model', ['backend-of-test-0']),
  modelManifest('test/short', ['backend-of-test-0']).replace('contextLength: 131072', 'contextLength: 1000'),
  modelManifest('test/full', ['backend-of-test-one']),
];
const weir = await forFile(
  startWeir({
    ...{ engines: [engine], manifests: { 'catalog.yaml': manifest.join('') } },
    env: { WEIR_KEEP_ALIVE_SECONDS: '1' },
  }),
);
beforeEach(() => engine.reset());

const ask = (text: string, more: object = {}) => ({
  ...{ model: 'test/model', max_tokens: 1000, thinking: { type: 'disabled' as const } },
  ...{ messages: [{ role: 'user' as const, content: `${canary} ${text}` }] },
  ...more,
});
const envelope = (type: string, code?: string) => ({
  type: 'error',
  error: { message: expect.any(String) as unknown, type, ...(code === undefined ? {} : { code }) },
});

async function failureOf(run: Promise<unknown>): Promise<APIError> {
  const error: unknown = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof APIError) return error;
  throw new Error(`expected an APIError, got ${String(error)}`);
}
const create = (more: object = {}, apiKey?: string): Promise<unknown> =>
  weir.messagesClient(apiKey === undefined ? {} : { apiKey }).messages.create(ask('hi', more));

async function newKey(
  workspace: readonly string[],
  key: readonly string[] = [],
): Promise<{ readonly id: string; readonly key: string }> {
  const [name = ''] = workspace;
  await runWeir(['workspace', 'create', ...workspace, '--data', weir.data]);
  const made = await runWeir(['key', 'create', '--workspace', name, ...key, '--json', '--data', weir.data]);
  return JSON.parse(made.stdout) as { readonly id: string; readonly key: string };
}

describe('each error is the class that the official client knows', () => {
  test.each<readonly [string, object, string, string | undefined]>([
    ['a field of the wrong type', { temperature: 'hot' }, 'temperature: ', undefined],
    ['no cap', { max_tokens: undefined }, 'max_tokens: ', undefined],
    [
      'a PDF document',
      { messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'base64' } }] }] },
      'messages[0].content[0].source.type: only documents whose text',
      undefined,
    ],
    ['an unknown model', { model: 'no/such' }, 'model: ', 'model_not_found'],
    ['an unknown variant', { model: 'test/model:online' }, 'model: ', 'variant_not_supported'],
    ['a prompt that does not fit', { model: 'test/short', max_tokens: 2000 }, 'messages: ', 'context_length_exceeded'],
    [
      'thinking that cannot be off',
      { model: 'test/always', thinking: { type: 'disabled' } },
      'thinking: test/always',
      'reasoning_not_disableable',
    ],
    [
      'tools that nobody calls',
      { model: 'test/limited', tools: [{ name: 'f', input_schema: {} }] },
      'tools: ',
      'tools_not_supported',
    ],
    [
      'a stop that nobody honours',
      { model: 'test/limited', stop_sequences: ['x'] },
      'stop_sequences: ',
      'param_not_supported',
    ],
  ])('400: %s', async (_, fields, message, code) => {
    const error = await failureOf(create(fields));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error.error).toEqual(envelope('invalid_request_error', code));
    expect(error.apiMessage).toContain(message);
    expect(error.type).toBe('invalid_request_error');
    expect(engine.requests()).toEqual([]);
  });

  test('401: no key, a wrong one, one that nobody has', async () => {
    const wrong = `${weir.key.slice(0, -1)}${weir.key.endsWith('a') ? 'b' : 'a'}`;
    for (const key of ['sk-weir-nonsense', wrong]) {
      const error = await failureOf(create({}, key));
      expect(error).toBeInstanceOf(AuthenticationError);
      expect(error.error).toEqual(envelope('service_error'));
    }
    const response = await weir.messages(ask('hi'), { 'x-api-key': '' });
    expect([response.status, await response.json()]).toEqual([401, envelope('service_error')]);
  });

  test('402, 403 and 401 again: a workspace without money, a suspended key, a revoked one', async () => {
    const poor = await newKey(['poor', '--credit', '0']);
    const error = await failureOf(create({}, poor.key));
    expect(error).toBeInstanceOf(PaymentRequiredError);
    expect(error.error).toEqual(envelope('service_error'));
    const { id, key } = await newKey(['rich', '--credit', '5']);
    const status = async (): Promise<number> => (await weir.messages(ask('hi'), { 'x-api-key': key })).status;
    expect(await status()).toBe(200);
    await runWeir(['key', 'suspend', id, '--data', weir.data]);
    await expect.poll(status).toBe(403);
    const suspended = await failureOf(create({}, key));
    expect(suspended).toBeInstanceOf(PermissionDeniedError);
    expect(suspended.apiMessage).toContain('abuse@example.com');
    await runWeir(['key', 'revoke', id, '--data', weir.data]);
    await expect.poll(status).toBe(401);
  });

  test('404: other paths and methods, the counting of tokens among them', async () => {
    const client = weir.messagesClient();
    const counting = await failureOf(
      client.messages.countTokens({ model: 'test/model', messages: ask('hi').messages }),
    );
    expect(counting).toBeInstanceOf(NotFoundError);
    expect(counting.error).toEqual(envelope('invalid_request_error'));
    for (const [method, path] of [
      ['GET', '/v1/messages'],
      ['POST', '/v1/messages/batches'],
      ['POST', '/v1/messages/'],
    ] as const) {
      const response = await weir.fetch(`${weir.origin}${path}`, { method });
      expect([response.status, await response.json()]).toEqual([404, envelope('invalid_request_error')]);
    }
  });

  test('413: plain text, as everywhere', async () => {
    const error = await failureOf(create({ system: 'x'.repeat(33_554_432) }));
    expect(error).toBeInstanceOf(ContentTooLargeError);
    const response = await weir.messages(ask('hi', { system: 'x'.repeat(33_554_432) }));
    expect(response.headers.get('content-type')).toContain('text/plain');
    expect(await response.text()).not.toContain('{');
  });

  test('429: with the time to wait', async () => {
    const { key } = await newKey(['slow', '--credit', '5'], ['--rate', '1', '--burst', '1']);
    const errors = await Promise.all([1, 2, 3].map(async () => create({}, key).catch((error: unknown) => error)));
    const limited = errors.find((error) => error instanceof RateLimitError);
    expect(limited?.error).toEqual(envelope('service_error'));
    expect(limited?.headers?.get('retry-after')).toBe('1');
  });

  test('502: every attempt failed', async () => {
    engine.set({ status: 500 });
    const error = await failureOf(create());
    expect(error).toBeInstanceOf(InternalServerError);
    expect([error.status, error.error]).toEqual([502, envelope('service_error')]);
  });

  test('503: no capacity', async () => {
    engine.set({ fault: 'stall', at: { events: 4 } });
    const busy = weir.messagesClient().messages.stream(ask('hi', { model: 'test/full' }));
    await new Promise((resolve) => busy.once('text', resolve));
    const error = await failureOf(create({ model: 'test/full' }));
    expect(error).toBeInstanceOf(InternalServerError);
    expect([error.status, error.error]).toEqual([503, envelope('service_error')]);
    busy.abort();
    await expect(busy.done()).rejects.toThrow('aborted');
  });
});

test('a key comes in either header, beside whatever version and beta its client names, and a query changes nothing', async () => {
  const url = `${weir.baseUrl}/messages?beta=true`;
  const headers = {
    'content-type': 'application/json',
    'anthropic-version': '2099-01-01',
    'anthropic-beta': 'a-2025-01-01,b',
  };
  for (const credential of [
    { 'x-api-key': weir.key },
    { authorization: `Bearer ${weir.key}` },
    { 'x-api-key': 'sk-other', authorization: `Bearer ${weir.key}` },
  ]) {
    const response = await weir.fetch(url, {
      method: 'POST',
      headers: { ...headers, ...(credential as Record<string, string>) },
      body: JSON.stringify(ask('hi')),
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toHaveProperty('stop_reason');
  }
  const bearer = new Anthropic({
    baseURL: weir.origin,
    apiKey: null,
    authToken: weir.key,
    maxRetries: 0,
    fetch: weir.fetch,
  });
  expect(
    (await bearer.beta.messages.create({ ...ask('hi'), betas: ['interleaved-thinking-2025-05-14'] })).stop_reason,
  ).toBe('end_turn');
  const { headers: sent } = engine.requests().at(-1) ?? {};
  expect(JSON.stringify(sent)).not.toMatch(/anthropic|x-api-key|sk-weir/);
});

test('a chat completion takes its key from its own header alone', async () => {
  const body = JSON.stringify({ model: 'test/model', messages: ask('hi').messages });
  const headers = { 'content-type': 'application/json', 'x-api-key': weir.key };
  const response = await weir.fetch(`${weir.baseUrl}/chat/completions`, { method: 'POST', headers, body });
  expect(response.status).toBe(401);
  expect(await response.json()).toEqual({ error: { message: expect.any(String) as unknown, type: 'service_error' } });
});

test('fields that nobody acts on are accepted and named, and an end user’s id goes nowhere', async () => {
  const response = await weir.messages(
    ask('hi', { service_tier: 'auto', metadata: { user_id: 'CANARY-user' }, speed: 'fast', unknown: true }),
  );
  expect(response.status).toBe(200);
  expect(response.headers.get('x-service-inert-params')).toBe('service_tier, speed');
  await response.text();
  expect(JSON.stringify(engine.requests().at(-1))).not.toMatch(/CANARY-user|service_tier|speed/);
});

describe('an answer that has begun', () => {
  test('and breaks off ends in an error event, which the client throws', async () => {
    engine.set({ fault: 'cut', at: { events: 6 } });
    const stream = weir.messagesClient().messages.stream(ask('hi'));
    let said = '';
    stream.on('text', (delta) => (said += delta));
    const error = await failureOf(stream.finalMessage());
    expect(said).not.toBe('');
    expect(error.error).toEqual(envelope('service_error', 'stream_interrupted'));
    expect(error.type).toBe('service_error');
    await weir.settled();
    const row = (await weir.ledger()).find(({ outcome }) => outcome === 'interrupted');
    expect(row).toMatchObject({ surface: 'messages', prompt_tokens: 0 });
  });

  test('is kept alive with pings, and a failure before any output is said all the same', async () => {
    const slow = `[[demo ${JSON.stringify({ words: 5, firstTokenDelayMs: 2500 })}]]`;
    const failing = `[[demo ${JSON.stringify({ firstTokenDelayMs: 1400, fault: 'cut', at: { events: 1 } })}]]`;
    const text = async (directive: string): Promise<string> =>
      (await weir.messages(ask(directive, { stream: true }))).text();
    const [kept, failed, whole, incomplete] = await Promise.all([
      text(slow),
      text(failing),
      weir.messagesClient().messages.stream(ask(slow)).finalMessage(),
      weir.messages(ask(failing)).then((response) => response.text()),
    ]);
    const checked = checkMessagesStream(kept);
    expect(checked.events.get('ping')).toBeGreaterThanOrEqual(2);
    expect(checked).toMatchObject({ ending: 'whole', content: whole.content });
    expect(checkMessagesStream(failed)).toMatchObject({
      ending: 'error',
      content: [],
      error: { code: 'stream_interrupted' },
    });
    expect(incomplete).toMatch(/^ +\{/);
    expect(JSON.parse(incomplete)).toEqual(envelope('service_error', 'upstream_incomplete'));
  });
});
