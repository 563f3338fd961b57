/** Requests before dispatch: refusals, keys, and the paths that need no engine. */
import { describe, expect, it } from 'vitest';
import { credentialOf } from '../../../test/support/credential-of.ts';
import type { FakeExchange, FakeExchangeOptions } from '../../../test/support/fake-exchange.ts';
import {
  key,
  authorized,
  ask,
  wholeJson,
  type BeginOptions,
  begin,
  bodyOf,
  header,
  expectClean,
} from '../../../test/support/pipeline-run.ts';

describe('a refusal', () => {
  const suspendedKey = credentialOf({ key: { status: 'suspended' } });
  const rows: readonly (readonly [
    what: string,
    options: BeginOptions,
    given: FakeExchangeOptions,
    status: number,
    error: object,
  ])[] = [
    ['another path', {}, { path: '/v1/completions' }, 404, { type: 'invalid_request_error' }],
    ['another method', {}, { method: 'GET' }, 404, { type: 'invalid_request_error' }],
    ['no key', {}, { headers: {} }, 401, { type: 'service_error' }],
    ['an unknown key', {}, { headers: { authorization: 'Bearer sk-weir-other' } }, 401, { type: 'service_error' }],
    ['a revoked key', { credential: credentialOf({ key: { status: 'revoked' } }) }, {}, 401, { type: 'service_error' }],
    [
      'a suspended key',
      { credential: suspendedKey },
      {},
      403,
      { type: 'service_error', message: expect.stringContaining('abuse@example.com') as string },
    ],
    [
      'an empty balance',
      { credential: credentialOf({ workspace: { balance: 0n } }) },
      {},
      402,
      { type: 'service_error' },
    ],
    ['no JSON', {}, { body: '{"model": CANARY' }, 400, { type: 'invalid_request_error' }],
    ['no UTF-8', {}, { body: Uint8Array.of(0x22, 0xff, 0x22) }, 400, { type: 'invalid_request_error' }],
    [
      'a missing field',
      {},
      { body: '{"model":"demo/tiny"}' },
      400,
      { type: 'invalid_request_error', message: expect.stringMatching(/^messages: /) as string },
    ],
    [
      'an unknown model',
      {},
      { body: JSON.stringify({ ...ask, model: 'demo/other' }) },
      400,
      { type: 'invalid_request_error', code: 'model_not_found' },
    ],
    [
      'a variant that is not offered',
      {},
      { body: JSON.stringify({ ...ask, model: 'demo/tiny:free' }) },
      400,
      { type: 'invalid_request_error', code: 'variant_not_supported' },
    ],
    [
      'a model without routes',
      {},
      { body: JSON.stringify({ ...ask, model: 'demo/empty' }) },
      503,
      { type: 'service_error' },
    ],
  ];
  it.each(rows)(
    'of %s is in the envelope, and nothing is dispatched or billed',
    async (_, options, given, status, error) => {
      const run = begin(options);
      const exchange = run.send(given);
      await exchange.answered;
      const { error: shown } = bodyOf(exchange) as { error: Record<string, unknown> };
      expect({ status: exchange.status(), type: header(exchange, 'content-type') }).toEqual({
        status,
        type: 'application/json',
      });
      expect(shown).toEqual({ message: expect.any(String) as string, ...error });
      expect(exchange.text()).not.toContain('CANARY');
      expect(header(exchange, 'retry-after')).toBeUndefined();
      expect(run.refusals).toHaveLength(1);
      await expectClean(run, 0);
      expect(run.upstream.calls).toHaveLength(0);
    },
  );

  it('of a body over 32 MiB is plain text, and comes before the body where its length is declared', async () => {
    const run = begin();
    const declared = run.send({ headers: { ...authorized, 'content-length': '33554433' }, body: undefined });
    await declared.answered;
    const counted = run.send({ body: new Uint8Array(33_554_433) });
    await counted.answered;
    for (const exchange of [declared, counted]) {
      expect({ status: exchange.status(), type: header(exchange, 'content-type') }).toEqual({
        status: 413,
        type: 'text/plain',
      });
      expect(exchange.text()).toMatch(/^Request body is over/);
    }
    await expectClean(run, 0);
  });

  it('of a request without a key comes before any of the body is read', async () => {
    const run = begin();
    const exchange = run.send({ headers: { 'content-length': '99999999' }, body: undefined });
    await exchange.answered;
    expect(exchange.status()).toBe(401);
  });

  it('of an unexpected error is a 503 without its text', async () => {
    const run = begin({ prepare: () => Promise.reject(new TypeError('CANARY is not a function')) });
    const exchange = run.send();
    await exchange.answered;
    expect(exchange.status()).toBe(503);
    expect(exchange.text()).not.toContain('CANARY');
    await expectClean(run, 0);
  });
});

describe('the other paths', () => {
  it('serve the list of models without a key, its preflight, and the liveness check', () => {
    const run = begin();
    const get = (method: string, path: string): FakeExchange => run.send({ method, path, headers: {} });
    const list = get('GET', '/v1/models?x=1');
    expect({ status: list.status(), body: bodyOf(list), cors: header(list, 'access-control-allow-origin') }).toEqual({
      status: 200,
      body: { object: 'list' },
      cors: '*',
    });
    expect(header(list, 'vary')).toBe('authorization, x-api-key');
    const preflight = get('OPTIONS', '/v1/models');
    expect({
      status: preflight.status(),
      text: preflight.text(),
      cors: header(preflight, 'access-control-allow-origin'),
    }).toEqual({ status: 204, text: '', cors: '*' });
    const health = get('GET', '/healthz');
    expect({ status: health.status(), body: bodyOf(health) }).toEqual({ status: 200, body: { status: 'ok' } });
    expect(run.pipeline.inFlight()).toBe(0);
  });
});

describe('a key with models', () => {
  const credential = credentialOf({ key: { models: ['demo/tiny', 'other/*'] } });

  it.each([
    ['/v1/chat/completions', authorized],
    ['/v1/messages', { 'x-api-key': key }],
    ['/v1/responses', authorized],
  ])('is told on %s that another model is not in the catalog, at no cost', async (path, headers) => {
    const run = begin({ credential });
    const exchange = run.send({
      path,
      headers,
      body: JSON.stringify({ ...ask, input: 'Hi.', model: 'demo/anywhere', max_tokens: 9 }),
    });
    await exchange.answered;
    expect(exchange.status()).toBe(400);
    expect(bodyOf(exchange)).toMatchObject({
      error: {
        code: 'model_not_found',
        message: expect.stringContaining('GET /v1/models lists what this key may call'),
      },
    });
    await expectClean(run, 0);
  });

  it('is served where the model is one of them, and lists them alone, in either header', async () => {
    const run = begin({ credential });
    const exchange = run.send();
    (await run.upstream.called(0)).answer('application/json', wholeJson);
    await exchange.answered;
    expect(exchange.status()).toBe(200);
    for (const headers of [authorized, { 'x-api-key': key }]) {
      const list = run.send({ method: 'GET', path: '/v1/models', headers });
      await list.answered;
      expect(bodyOf(list)).toEqual({ object: 'list', models: credential.key.models });
    }
    await expectClean(run, 1);
  });
});

describe('the wait of a request', () => {
  const waitOf = async (headers: Readonly<Record<string, string>>): Promise<readonly number[]> => {
    const run = begin();
    const received = String(run.clock.now() - 50_000);
    const exchange = run.send({ headers: { ...headers, 'x-weir-received': received }, body: '{}' });
    await exchange.answered;
    return run.waits;
  };

  it.each([
    ['no key', {}],
    ['an unknown key', { authorization: 'Bearer sk-weir-other' }],
    ['a text that is no key', { authorization: 'Bearer x' }],
  ])('says nothing of the load if it has %s', async (_, headers) => {
    expect(await waitOf(headers)).toEqual([]);
  });

  it('counts if the caller is known', async () => {
    expect(await waitOf(authorized)).toEqual([50_000]);
  });
});
