import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { keyText } from '../../src/books/accounts/key-text.ts';
import { everywhere, schema, strict, tool } from './support/canary-request.ts';
import { backendManifest, canary, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engines = await forFile([
  await startProgrammableEngine({ name: 'alpha' }),
  await startProgrammableEngine({ name: 'beta' }),
]);
const names = ['backend-of-test-a', 'backend-of-test-b'] as const;
const backends = names.map((name, at) => backendManifest(name, { port: engines[at]?.port ?? 0 })).join('');
const weir = await forFile(
  startWeir({
    engines,
    manifests: {
      'catalog.yaml': backends + modelManifest('test/model', names, '  inputModalities: [text, image]'),
    },
    env: { WEIR_LOG_LEVEL: 'debug' },
    secrets: engines.map(({ port }) => `:${port}`),
  }),
);
beforeEach(() => {
  for (const engine of engines) engine.reset();
});
// `close` looks for the canary in every file of the data folder, in what was printed and in the metrics, and for what
// gives the engines away in every answer. Each test here puts them where they could get in.

const headers = {
  // Only a short plain id is kept, as an id.
  'x-request-id': `${strict} is not an id`,
  'user-agent': strict,
  referer: `https://example.com/${strict}`,
  cookie: `session=${strict}`,
  'openai-organization': strict,
  'x-weir-cluster': strict,
  traceparent: `00-${strict}`,
  baggage: `user=${strict}`,
};

async function ask(fields: object = {}): Promise<{ readonly status: number; readonly text: string }> {
  const response = await weir.chat(everywhere(fields), headers);
  return { status: response.status, text: await response.text() };
}

const shapes = {
  text: {},
  'a stream': { stream: true, stream_options: { include_usage: true } },
  'tool calls': { tools: [tool], tool_choice: { type: 'function', function: { name: tool.function.name } } },
  'streamed tool calls': { tools: [tool], tool_choice: 'required', stream: true },
  'structured output': {
    response_format: { type: 'json_schema', json_schema: { name: 'canary', description: canary, schema } },
  },
};
test.each(Object.entries(shapes))(
  'content of a request for %s reaches the engine, and what identifies the user does not',
  async (_, fields) => {
    const { status, text } = await ask(fields);
    expect(status).toBe(200);
    expect(text).toContain(canary);
    const [request] = engines.flatMap((engine) => engine.requests());
    const reached = JSON.stringify([request?.headers, request?.path, request?.body]);
    expect(reached).toContain(canary);
    expect(reached).not.toContain(strict);
  },
);

test('an answer has no header but ours', async () => {
  const ours = [
    'cache-control',
    'connection',
    'content-length',
    'content-type',
    'date',
    'transfer-encoding',
    'x-ratelimit-limit-requests',
    'x-ratelimit-remaining-requests',
    'x-ratelimit-reset-requests',
    'x-request-id',
    'x-service-inert-params',
  ];
  for (const fields of Object.values(shapes)) {
    const response = await weir.chat(everywhere(fields));
    expect([...response.headers.keys()].filter((name) => !ours.includes(name))).toEqual([]);
    expect(response.headers.get('x-service-inert-params')).toBe(
      'metadata, prompt_cache_key, prediction, web_search_options',
    );
    await response.text();
  }
});

const errorJson = { error: { message: canary, type: canary, code: canary }, detail: canary };
const faults: readonly BehaviourInput[] = [
  ...[400, 401, 404, 422, 429, 500, 503].map((status) => ({ status, errorJson, retryAfter: canary })),
  { status: 200, errorJson },
  { status: 500, errorBody: 'html' },
  { status: 200, errorBody: 'not-json' },
  ...(['error', 'error-then-done', 'error-then-cut'] as const).map((fault) => ({
    fault,
    at: { events: 3 },
    errorJson,
  })),
  ...(['malformed', 'malformed-then-cut'] as const).map((fault) => ({
    fault,
    at: { events: 3 },
    malformedLine: `data: {"${canary}`,
  })),
  ...(['cut', 'reset', 'truncate', 'end'] as const).map((fault) => ({ fault, at: { bytes: 3000 } })),
  { contentType: `text/${canary}` },
  { finishReason: canary },
  { finishReason: { [canary]: canary } },
  { jsonDefect: 'truncated' },
  { argumentsDefect: 'not-json' },
];
test('faults of engines, in their own words, are told to nobody', async () => {
  for (const fault of faults) {
    for (const scope of [{}, { on: ['alpha'] }]) {
      for (const engine of engines) engine.set({ ...fault, ...scope });
      // 503: both have just said that they have had enough.
      for (const fields of Object.values(shapes)) expect([200, 400, 502, 503]).toContain((await ask(fields)).status);
    }
  }
  await expect.poll(() => weir.log()).toContain('attempt failed');
});

test('the sentence of an engine is logged without the part of the request that it repeats', async () => {
  const message = `CUDA out of memory while serving ${canary} for ${canary.toLowerCase()}: buy more`;
  for (const engine of engines) engine.set({ status: 500, errorJson: { error: { message } } });
  expect((await ask()).status).toBe(502);
  await expect.poll(() => weir.log()).toMatch(/"said":"CUDA out of memory [a-z ]*… for …: buy more"/);
});

test('a request that is refused is told to its caller alone', async () => {
  const wrong = [
    ...['role', 'content'].map((field) => ({
      messages: [{ role: 'user', content: 'x', [field]: { [canary]: canary } }],
    })),
    ...['temperature', 'n', 'tools', 'tool_choice', 'stream', 'response_format', 'stop', 'logit_bias', 'model'].map(
      (field) => ({ [field]: { [canary]: canary } }),
    ),
    { model: canary.toLowerCase() },
    { model: `${canary}:free` },
    { messages: [{ role: canary, content: canary }] },
    { tools: [tool], tool_choice: { type: 'function', function: { name: `${canary}-other` } } },
    { temperature: canary },
  ];
  for (const fields of wrong) expect([200, 400, 502]).toContain((await ask(fields)).status);
  for (const body of [
    canary,
    `"${canary}"`,
    `["${canary}"]`,
    `{"${canary}":`,
    JSON.stringify(everywhere()).slice(0, -1),
    `\uFFFD${canary}`,
  ]) {
    expect((await weir.chat(body, headers)).status).toBe(400);
  }
  const unknown = await weir.fetch(`${weir.origin}/${canary}?${canary}=${canary}`, { method: 'POST', body: canary });
  expect(unknown.status).toBe(404);
  const stranger = await weir.chat(everywhere(), { authorization: `Bearer ${canary}` });
  expect(stranger.status).toBe(401);
});

test('what was under way when the service or a caller ended is gone with it', async () => {
  for (const end of ['caller', 'service'] as const) {
    const controller = new AbortController();
    const response = await weir.fetch(`${weir.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${weir.key}`, ...headers },
      body: JSON.stringify(everywhere({ stream: true, max_tokens: 5000, demo: {}, stop: null })),
      signal: controller.signal,
    });
    const reader = response.body?.getReader();
    await reader?.read();
    if (end === 'service') process.kill(weir.pid('service'), 'SIGKILL');
    else controller.abort();
    await reader?.read().catch(() => undefined);
    await reader?.cancel().catch(() => undefined);
    await expect.poll(async () => (await weir.fetch(`${weir.origin}/healthz`)).status).toBe(200);
  }
  expect((await ask()).status).toBe(200);
});

test('no key and no hash of one is logged or measured, of those that work and of those that do not', async () => {
  const stranger = keyText(createHash('sha256').update('nobody').digest());
  const mistyped = `${stranger.slice(0, -1)}${stranger.endsWith('a') ? 'b' : 'a'}`;
  const keys = [weir.key, stranger, mistyped, 'sk-weir-short'];
  for (const key of keys) {
    for (const name of ['authorization', 'x-api-key', 'proxy-authorization']) {
      const status = (await weir.chat(everywhere(), { authorization: '', [name]: `Bearer ${key}` })).status;
      expect(status).toBe(key === weir.key && name === 'authorization' ? 200 : 401);
    }
  }
  const hashes = keys.flatMap((key) =>
    (['hex', 'base64', 'base64url'] as const).map((form) => createHash('sha256').update(key).digest(form)),
  );
  await weir.chat(everywhere(), { 'x-request-id': 'after-the-keys' });
  await expect.poll(() => weir.log()).toContain('after-the-keys');
  const logs = readdirSync(join(weir.data, 'logs')).map((name) => readFileSync(join(weir.data, 'logs', name), 'utf8'));
  const told = [...logs, await (await fetch(weir.opsUrl)).text(), await weir.admin('/stats')].join('\n');
  expect(told).toContain('unauthenticated');
  for (const secret of [...keys, ...hashes]) expect(told).not.toContain(secret);
});

test('Envoy keeps none of it, and the log of the service has been at its most talkative', async () => {
  for (const path of ['/stats', '/clusters', '/config_dump']) expect(await weir.admin(path)).not.toContain(canary);
  await expect.poll(() => weir.log()).toContain('"level":20');
});
