/** The paths that an operator may switch on: what a key is told of itself, single models, and counts of prompts. */
import { describe, expect, it } from 'vitest';
import type { BudgetPeriod, Key } from '../../core/account.ts';
import { Failure } from '../../core/failure.ts';
import type { PromptCount, PromptCountAsk } from '../../core/prompt.ts';
import { credentialOf } from '../../../test/support/credential-of.ts';
import type { FakeExchange, FakeExchangeOptions } from '../../../test/support/fake-exchange.ts';
import {
  ask,
  authorized,
  begin,
  type BeginOptions,
  bodyOf,
  cost,
  expectClean,
  header,
  key,
  type Run,
  wholeJson,
  wholeStream,
} from '../../../test/support/pipeline-run.ts';
import { modelOf, routeOf, snapshotOf } from '../../../test/support/route-of.ts';
import { prepareHere } from './prepare.ts';

const usd = 1_000_000_000_000n;
const get = { method: 'GET', path: '/v1/key' } as const;
const count = { path: '/v1/messages/count_tokens', headers: { 'x-api-key': key }, body: JSON.stringify(ask) } as const;
const beginOn = (options: BeginOptions = {}): Run => begin({ furtherPaths: 'on', ...options });

async function answerTo(run: Run, given: FakeExchangeOptions): Promise<FakeExchange> {
  const exchange = run.send(given);
  await exchange.answered;
  return exchange;
}

const seen = (exchange: FakeExchange) => ({
  status: exchange.status(),
  headers: exchange.headers(),
  text: exchange.text(),
});

describe('where they are off', () => {
  it.each([
    [get, '/v1/anything', 'GET'],
    [{ ...get, method: 'HEAD' }, '/v1/anything', 'HEAD'],
    [{ ...get, path: '/v1/models/demo/tiny' }, '/v1/anything', 'GET'],
    [{ method: 'OPTIONS', path: '/v1/models/demo/tiny' }, '/v1/anything', 'OPTIONS'],
    [count, '/v1/messages/anything', 'POST'],
  ])('%o is answered like a path that no deployment has', async (given, other, method) => {
    const run = begin();
    const unknown = await answerTo(run, { ...given, path: other, method });
    const here = await answerTo(run, given);
    expect(unknown.status()).toBe(404);
    const named = unknown.text().replace(other, given.path);
    expect({ ...seen(here) }).toEqual({ ...seen(unknown), text: named });
    expect(here.text()).toContain(
      'The API has POST /v1/chat/completions, POST /v1/messages, POST /v1/responses, GET /v1/models and GET /healthz.',
    );
    await expectClean(run, 0);
  });

  it('answers have no header about money', async () => {
    const run = begin({ credential: credentialOf({ key: { budget: { limit: usd, period: 'day' } } }) });
    const exchange = run.send();
    (await run.upstream.called(0)).answer('application/json', wholeJson);
    await exchange.answered;
    expect(exchange.headers().filter(([name]) => name.startsWith('x-weir'))).toEqual([]);
  });
});

it('lists them in the message of a 404 where they are on', async () => {
  const exchange = await answerTo(beginOn(), { path: '/v1/completions' });
  expect(bodyOf(exchange)).toMatchObject({
    error: {
      message: expect.stringContaining(
        'POST /v1/messages/count_tokens, GET /v1/key, GET /v1/models/{id}, GET /v1/models and GET /healthz.',
      ) as string,
    },
  });
});

describe('GET /v1/key', () => {
  const plain = {
    ...{ object: 'key', id: 'key-1', workspace: 'acme', name: null, status: 'active' },
    ...{
      budget: null,
      rate: 100,
      burst: 200,
      tokens_per_minute: null,
      not_enforced: null,
      expires_at: null,
      models: null,
      balance: null,
    },
  };

  it.each([authorized, { 'x-api-key': key }, { authorization: 'Bearer sk-of-another', 'x-api-key': key }])(
    'tells a key in %o what it may do, at no cost',
    async (headers) => {
      const run = beginOn();
      const exchange = await answerTo(run, { ...get, headers });
      expect({ status: exchange.status(), body: bodyOf(exchange) }).toEqual({ status: 200, body: plain });
      expect(exchange.headers()).toEqual([
        ['content-type', 'application/json'],
        ['cache-control', 'no-store'],
      ]);
      await expectClean(run, 0);
      expect(run.ends).toEqual([]);
    },
  );

  it.each<readonly [Partial<Key>, object]>([
    [{ name: 'CI of the web team' }, { name: 'CI of the web team' }],
    [{ models: ['demo/tiny', 'qwen/*'] }, { models: ['demo/tiny', 'qwen/*'] }],
    [
      { rate: 3, burst: 7 },
      { rate: 3, burst: 7 },
    ],
    [{ expiresAt: Date.parse('2100-01-01T00:00:00Z') }, { expires_at: '2100-01-01T00:00:00.000Z' }],
  ])('shows %o', async (fields, shown) => {
    const exchange = await answerTo(beginOn({ credential: credentialOf({ key: fields }) }), get);
    expect(bodyOf(exchange)).toEqual({ ...plain, ...shown });
  });

  it.each<readonly [BudgetPeriod, string | null]>([
    ['day', '2026-12-31T00:00:00.000Z'],
    ['week', '2027-01-04T00:00:00.000Z'],
    ['month', '2027-01-01T00:00:00.000Z'],
    ['total', null],
  ])('shows what is spent of a budget of a %s, exactly, and when it starts again', async (period, resets) => {
    const limit = 20n * usd;
    const run = beginOn({
      credential: credentialOf({ key: { budget: { limit, period } }, spent: 20n * usd + 1n }),
      now: Date.parse('2026-12-30T12:00:00Z'),
    });
    expect(bodyOf(await answerTo(run, get))).toEqual({
      ...plain,
      budget: { limit: '20', period, spent: '20.000000000001', remaining: '-0.000000000001', resets_at: resets },
    });
  });

  it.each([
    ['on', null],
    ['with-balance', '-0.5'],
  ] as const)('shows the balance of the workspace only where the operator allows it: %s', async (mode, balance) => {
    const credential = credentialOf({ workspace: { balance: -usd / 2n } });
    const exchange = await answerTo(begin({ credential, furtherPaths: mode }), get);
    expect(bodyOf(exchange)).toEqual({ ...plain, balance });
  });

  const suspended = credentialOf({ workspace: { status: 'suspended' } });
  const away = () => Promise.reject(new Failure('internal', 'The service could not reach its accounts.'));
  it.each<readonly [what: string, BeginOptions, FakeExchangeOptions, status: number, message: RegExp]>([
    ['no key', {}, { headers: {} }, 401, /send "x-api-key: <API_KEY>" or "Authorization: Bearer <API_KEY>"\.$/],
    ['an unknown key', {}, { headers: { 'x-api-key': 'sk-weir-other' } }, 401, /invalid API key/],
    ['a revoked key', { credential: credentialOf({ key: { status: 'revoked' } }) }, {}, 401, /invalid API key/],
    ['an expired key', { credential: credentialOf({ key: { expiresAt: 1 } }) }, {}, 401, /has expired/],
    ['a suspended key', { credential: credentialOf({ key: { status: 'suspended' } }) }, {}, 403, /abuse@example\.com/],
    ['a key of a suspended workspace', { credential: suspended }, {}, 403, /abuse@example\.com/],
    ['a key that is not remembered while the database is down', { find: away }, {}, 503, /accounts/],
  ])('refuses %s as an answer does', async (_, options, given, status, message) => {
    const run = beginOn(options);
    const asked = await answerTo(run, given);
    const exchange = await answerTo(run, { ...get, ...given });
    expect([asked.status(), exchange.status()]).toEqual([status, status]);
    expect(bodyOf(exchange)).toEqual({
      error: { type: 'service_error', message: expect.stringMatching(message) as string },
    });
    expect(run.refusals).toHaveLength(2);
    await expectClean(run, 0);
  });

  it('works for a remembered key while the database is down, and for one without any funds', async () => {
    const credential = credentialOf({ workspace: { balance: 0n } });
    const run = beginOn({ find: () => Promise.resolve(credential), settleFailure: new Error('away') });
    expect((await answerTo(run, get)).status()).toBe(200);
  });

  it('counts failures of an address like those of answers, and is refused from a blocked one', async () => {
    const run = beginOn();
    const from = { ...get, address: '203.0.113.9' };
    for (let failures = 0; failures < 31; failures += 1) await answerTo(run, { ...from, headers: {} });
    const blocked = await answerTo(run, from);
    expect(blocked.status()).toBe(429);
    expect(Number(header(blocked, 'retry-after'))).toBeGreaterThan(0);
    expect((await answerTo(run, { address: from.address })).status()).toBe(429);
    expect((await answerTo(run, { ...from, address: '203.0.113.10' })).status()).toBe(200);
  });

  it('takes no token of the rate', async () => {
    const run = beginOn({ credential: credentialOf({ key: { rate: 1, burst: 1 } }) });
    for (let asked = 0; asked < 5; asked += 1) expect((await answerTo(run, get)).status()).toBe(200);
    expect((await answerTo(run, count)).status()).toBe(200);
    expect((await answerTo(run, count)).status()).toBe(429);
    expect((await answerTo(run, get)).status()).toBe(200);
  });
});

describe('GET /v1/models/{id}', () => {
  const of = (id: string, headers: Readonly<Record<string, string>> = {}): FakeExchangeOptions => ({
    ...{ method: 'GET', path: `/v1/models/${id}`, headers },
  });

  it.each(['demo/tiny', 'demo%2Ftiny', 'Demo%2fTINY', 'demo/tiny?x=1', 'demo/tiny:nitro', 'demo%2Ftiny%3Afloor'])(
    'is the entry of the list for %s, for pages of every origin',
    async (id) => {
      const run = beginOn();
      const exchange = await answerTo(run, of(id));
      expect({ status: exchange.status(), text: exchange.text() }).toEqual({
        status: 200,
        text: '{"id":"demo/tiny","object":"model"}',
      });
      const list = await answerTo(run, { ...get, path: '/v1/models' });
      expect(exchange.headers()).toEqual(list.headers());
    },
  );

  it.each([
    ['demo/tinyy', 'demo/tinyy'],
    ['demo%2Ftinyy', 'demo/tinyy'],
    ['demo', 'demo'],
    ['demo/tiny/', 'demo/tiny/'],
    ['demo%252Ftiny', 'demo%2ftiny'],
    ['demo/%ff', 'demo/%ff'],
    ['demo/tiny:free', 'demo/tiny:free'],
    ['../key', '../key'],
  ])('is 404 for %s, with the usual error, which pages can read', async (id, shown) => {
    const run = beginOn();
    const exchange = await answerTo(run, of(id));
    expect({ status: exchange.status(), cors: header(exchange, 'access-control-allow-origin') }).toEqual({
      status: 404,
      cors: '*',
    });
    const { error } = bodyOf(exchange) as { readonly error: { readonly message: string } };
    expect(error).toEqual({ type: 'invalid_request_error', message: expect.any(String) as string });
    expect(error.message).toContain(`model: ${JSON.stringify(shown)} is not in the catalog.`);
    expect(run.refusals).toHaveLength(1);
  });

  it('has only what a key may call, as the list does, and everything for an invalid key', async () => {
    const run = beginOn({ credential: credentialOf({ key: { models: ['demo/tiny'] } }) });
    const statuses = [];
    for (const headers of [authorized, { 'x-api-key': key }, {}, { 'x-api-key': 'sk-weir-other' }]) {
      for (const id of ['demo/tiny', 'demo/anywhere']) statuses.push((await answerTo(run, of(id, headers))).status());
    }
    expect(statuses).toEqual([200, 404, 200, 404, 200, 200, 200, 200]);
    expect((await answerTo(run, of('demo/anywhere', authorized))).text()).toContain('lists what this key may call');
  });

  it('has the preflight of the list, and no entry without a name', async () => {
    const run = beginOn();
    const preflight = await answerTo(run, { ...of('demo/tiny'), method: 'OPTIONS' });
    expect(seen(preflight)).toEqual(seen(await answerTo(run, { method: 'OPTIONS', path: '/v1/models' })));
    expect((await answerTo(run, of(''))).text()).toContain('There is nothing at GET /v1/models/.');
    expect((await answerTo(run, { ...of('demo/tiny'), method: 'DELETE' })).status()).toBe(404);
  });
});

describe('POST /v1/messages/count_tokens', () => {
  const input = (exchange: FakeExchange): unknown => ({ status: exchange.status(), body: bodyOf(exchange) });

  /** A run whose model has a tokenizer that says this. */
  function counting(result: PromptCount): { readonly run: Run; readonly asked: readonly PromptCountAsk[] } {
    const asked: PromptCountAsk[] = [];
    const run = beginOn({
      prepare: (body, surface, how) => ({
        ...prepareHere(body, { surface, ...how, countPrompt: () => Promise.reject(new Error('not asked')) }),
        countPrompt: (one) => {
          asked.push(one);
          return Promise.resolve(result);
        },
      }),
    });
    run.snapshots.swap(snapshotOf([modelOf([routeOf('a')], { tokenizer: { path: 'tiny' } })]));
    return { run, asked };
  }

  it.each([authorized, { 'x-api-key': key }])(
    'counts by the tokenizer of the model with the key in %o',
    async (headers) => {
      const { run, asked } = counting({ kind: 'counted', tokens: 1234 });
      const exchange = await answerTo(run, { ...count, headers: { ...headers, 'x-request-id': 'one' } });
      expect(input(exchange)).toEqual({ status: 200, body: { input_tokens: 1234 } });
      expect(asked).toMatchObject([{ tokenizerPath: 'tiny', want: 'count', limit: 8192 }]);
      expect(exchange.headers()).toEqual([
        ['content-type', 'application/json'],
        ['request-id', 'one'],
        ['x-ratelimit-limit-requests', '100'],
        ['x-ratelimit-remaining-requests', '199'],
        ['x-ratelimit-reset-requests', '1'],
      ]);
      await expectClean(run, 0);
      expect([run.upstream.calls, run.ends, run.waits.length]).toEqual([[], [], 1]);
    },
  );

  const long = JSON.stringify({ ...ask, messages: [{ role: 'user', content: 'abcde'.repeat(9000) }] });
  it.each<readonly [PromptCount, string, number]>([
    [{ kind: 'over', atLeast: 8193 }, count.body, 8193],
    [{ kind: 'over', atLeast: 8193 }, long, 9000],
    [{ kind: 'unknown', reason: 'time' }, long, 9000],
    [{ kind: 'unknown', reason: 'template' }, count.body, 3],
  ])('goes on with the estimate where the tokenizer says %o', async (result, body, tokens) => {
    const { run } = counting(result);
    expect(input(await answerTo(run, { ...count, body }))).toEqual({ status: 200, body: { input_tokens: tokens } });
  });

  it.each([
    ['max_tokens', { max_tokens: 9 }],
    ['a stream', { stream: true }],
    ['a system text, tools and thinking', { system: 'CANARY', thinking: { type: 'adaptive' }, tools: [] }],
  ])('estimates where the model has no tokenizer, also with %s', async (_, more) => {
    const run = beginOn();
    const exchange = await answerTo(run, { ...count, body: JSON.stringify({ ...ask, ...more }) });
    expect(input(exchange)).toMatchObject({ status: 200, body: { input_tokens: expect.any(Number) as number } });
    await expectClean(run, 0);
  });

  const poor = credentialOf({
    key: { budget: { limit: 1n, period: 'day' } },
    workspace: { balance: 0n },
    spent: 1n,
  });
  it('is free: neither an empty balance nor a spent budget refuses it', async () => {
    const run = beginOn({ credential: poor });
    expect(
      (
        await answerTo(run, { ...count, path: '/v1/messages', body: JSON.stringify({ ...ask, max_tokens: 1 }) })
      ).status(),
    ).toBe(402);
    expect((await answerTo(run, count)).status()).toBe(200);
  });

  const limited = (workspace: object) => ({ credential: credentialOf({ workspace }) });
  it.each<readonly [what: string, BeginOptions, FakeExchangeOptions, status: number, error: object]>([
    ['no key', {}, { headers: {} }, 401, { type: 'service_error' }],
    ['a suspended key', { credential: credentialOf({ key: { status: 'suspended' } }) }, {}, 403, {}],
    ['a rate that is used up', { credential: credentialOf({ key: { rate: 1, burst: 0 } }) }, {}, 429, {}],
    ['too many in-flight requests', limited({ maxInFlight: 0 }), {}, 429, {}],
    ['no JSON', {}, { body: '{' }, 400, {}],
    [
      'no messages',
      {},
      { body: '{"model":"demo/tiny"}' },
      400,
      { message: expect.stringMatching(/^messages: /) as string },
    ],
    ['another model', {}, { body: JSON.stringify({ ...ask, model: 'demo/other' }) }, 400, { code: 'model_not_found' }],
    [
      'a model that the key may not call',
      { credential: credentialOf({ key: { models: ['a/b'] } }) },
      {},
      400,
      { code: 'model_not_found' },
    ],
    [
      'web search',
      {},
      { body: JSON.stringify({ ...ask, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }) },
      400,
      { code: 'web_search_unavailable' },
    ],
  ])('refuses %s in the format of its clients', async (_, options, given, status, error) => {
    const run = beginOn(options);
    const exchange = await answerTo(run, { ...count, ...given });
    expect(exchange.status()).toBe(status);
    expect(bodyOf(exchange)).toMatchObject({ type: 'error', error });
    expect(run.refusals).toHaveLength(1);
    expect(run.ends).toEqual([]);
    await expectClean(run, 0);
  });

  it('counts among the requests that the service may have open', async () => {
    const run = beginOn({ maxOpen: 1 });
    const open = run.send({ ...count, body: undefined });
    expect(run.pipeline.inFlight()).toBe(1);
    expect((await answerTo(run, count)).status()).toBe(503);
    open.leave();
    await expectClean(run, 0);
  });

  it('still demands max_tokens of a message', async () => {
    const exchange = await answerTo(beginOn(), { ...count, path: '/v1/messages' });
    expect(bodyOf(exchange)).toMatchObject({ error: { message: expect.stringMatching(/^max_tokens: /) as string } });
  });

  it('leaves nothing behind when its caller leaves', async () => {
    const run = beginOn();
    const exchange = run.send({ ...count, body: undefined });
    exchange.leave();
    await expectClean(run, 0);
    expect(run.refusals).toEqual([]);
  });
});

describe('headers about money', () => {
  const budget = { limit: 5n * cost, period: 'month' } as const;
  const money = (exchange: FakeExchange): unknown => exchange.headers().filter(([name]) => name.startsWith('x-weir'));

  /** A run whose accounts know what was settled. */
  function spending(fields: Partial<Key> = { budget }): Run {
    const run: Run = begin({
      costHeaders: 'on',
      idleMs: 60_000,
      find: () =>
        credentialOf({ key: fields, spent: run.store.outcomes.reduce((sum, outcome) => sum + outcome.cost, 0n) }),
    });
    return run;
  }

  const bodies = {
    '/v1/chat/completions': ask,
    '/v1/messages': { ...ask, max_tokens: 9 },
    '/v1/responses': { model: ask.model, input: 'Hi.' },
  };
  it.each(Object.entries(bodies))('of whole answers on %s are exact', async (path, body) => {
    const run = spending();
    for (const [call, left] of ['0.00001008', '0.00000756', '0.00000504'].entries()) {
      const exchange = run.send({ path, body: JSON.stringify(body) });
      (await run.upstream.called(call)).answer('application/json', wholeJson);
      await exchange.answered;
      expect(money(exchange)).toEqual([
        ['x-weir-cost', '0.00000252'],
        ['x-weir-budget-remaining', left],
      ]);
    }
    await expectClean(run, 3);
  });

  it.each(Object.entries(bodies))('of streams on %s are what is known when they begin', async (path, body) => {
    const run = spending();
    for (const [call, left] of ['0.0000126', '0.00001008'].entries()) {
      const exchange = run.send({ path, body: JSON.stringify({ ...body, stream: true }) });
      (await run.upstream.called(call)).answer('text/event-stream', wholeStream);
      await exchange.answered;
      expect(money(exchange)).toEqual([['x-weir-budget-remaining', left]]);
    }
  });

  it('of a whole answer that was begun to keep it alive are those of a stream', async () => {
    const run = spending();
    const exchange = run.send();
    const engine = await run.upstream.called(0);
    run.clock.advance(15_000);
    engine.answer('application/json', wholeJson);
    await exchange.answered;
    expect(money(exchange)).toEqual([['x-weir-budget-remaining', '0.0000126']]);
  });

  it('name the cost alone for a key without a budget, and nothing on a refusal', async () => {
    const run = spending({});
    const exchange = run.send();
    (await run.upstream.called(0)).answer('application/json', wholeJson);
    await exchange.answered;
    expect(money(exchange)).toEqual([['x-weir-cost', '0.00000252']]);
    expect(money(await answerTo(run, { body: '{' }))).toEqual([]);
  });
});
