/** Limits of rate, concurrency, uploads and money, over whole requests. */
import { describe, expect, it } from 'vitest';
import type { PreparedRequest } from '../../core/prompt.ts';
import { credentialOf } from '../../../test/support/credential-of.ts';
import type { FakeExchange, FakeExchangeOptions } from '../../../test/support/fake-exchange.ts';
import {
  authorized,
  ask,
  askStream,
  events,
  chunk,
  done,
  hello,
  wholeStream,
  wholeJson,
  begin,
  type Run,
  bodyOf,
  header,
  settle,
  expectClean,
  head,
} from '../../../test/support/pipeline-run.ts';

describe('limits (docs/reference/api.md §8)', () => {
  const limitHeaders = (exchange: FakeExchange): readonly (string | undefined)[] =>
    ['limit', 'remaining', 'reset'].map((name) => header(exchange, `x-ratelimit-${name}-requests`));
  const answerJson = async (run: Run, call: number): Promise<void> =>
    (await run.upstream.called(call)).answer('application/json', wholeJson);

  it('of the rate are in the headers of every success, stream or not, and of 429, and of no other answer', async () => {
    const run = begin({ credential: credentialOf({ key: { rate: 1, burst: 3 } }) });
    const whole = run.send();
    await answerJson(run, 0);
    await whole.answered;
    const stream = run.send({ body: JSON.stringify(askStream) });
    (await run.upstream.called(1)).answer(events, wholeStream);
    await stream.answered;
    const wrong = run.send({ body: '{' });
    const refused = run.send();
    await Promise.all([wrong.answered, refused.answered]);
    expect([whole, stream, wrong, refused].map((each) => [each.status(), ...limitHeaders(each)])).toEqual([
      [200, '1', '2', '1'],
      [200, '1', '1', '2'],
      [400, undefined, undefined, undefined],
      [429, '1', '0', '3'],
    ]);
    expect(bodyOf(refused)).toEqual({ error: { type: 'service_error', message: expect.any(String) as string } });
    expect([header(refused, 'retry-after'), header(whole, 'retry-after')]).toEqual(['1', undefined]);
    run.clock.advance(1000);
    const again = run.send();
    await answerJson(run, 2);
    await again.answered;
    expect(again.status()).toBe(200);
  });

  describe('in tokens a minute', () => {
    const tokens = (exchange: FakeExchange): readonly (string | undefined)[] =>
      ['limit', 'remaining', 'reset'].map((name) => header(exchange, `x-ratelimit-${name}-tokens`));
    const capped = { ...ask, max_tokens: 16 };
    const answered = async (run: Run, body: object, json = wholeJson): Promise<FakeExchange> => {
      const exchange = run.send({ body: JSON.stringify(body) });
      const call = run.upstream.calls.length;
      (await run.upstream.called(call)).answer('application/json', json);
      await exchange.answered;
      return exchange;
    };

    it('reserve what is expected before dispatch, count what was used, and are in the headers', async () => {
      const run = begin({ credential: credentialOf({ key: { tokensPerMinute: 600 } }) });
      const first = await answered(run, capped);
      const expected = 600 - Number(tokens(first)[1]);
      expect(expected).toBeGreaterThan(16);
      expect(tokens(first)).toEqual(['600', String(600 - expected), String(Math.ceil(expected / 10))]);
      // The answer before used 14.
      expect(tokens(await answered(run, capped))[1]).toBe(String(600 - 14 - expected));
      // Without a cap, more is expected than a minute allows: it passes, since something is left, and nothing passes beside it.
      const long = run.send();
      await settle();
      const refused = run.send();
      await refused.answered;
      expect([refused.status(), ...tokens(refused)].slice(0, 3)).toEqual([429, '600', '0']);
      expect(bodyOf(refused)).toEqual({
        error: {
          type: 'service_error',
          message:
            'Rate limit exceeded: this key may use 600 tokens a minute, prompts and answers together. Wait and retry.',
        },
      });
      expect(Number(header(refused, 'retry-after'))).toBeGreaterThan(10);
      await answerJson(run, 2);
      await long.answered;
      expect(tokens(await answered(run, capped))[1]).toBe(String(600 - 3 * 14 - expected));
    });

    it('take nothing for a failure, and what is estimated for an engine that reports no usage', async () => {
      const run = begin({ credential: credentialOf({ workspace: { tokensPerMinute: 600 } }) });
      const failed = run.send({ body: JSON.stringify(capped) });
      (await run.upstream.called(0)).fail('ECONNREFUSED');
      (await run.upstream.called(1)).fail('ECONNREFUSED');
      await failed.answered;
      expect([failed.status(), ...tokens(failed)]).toEqual([502, undefined, undefined, undefined]);
      const silent = JSON.stringify({ ...(JSON.parse(wholeJson) as object), usage: undefined });
      const first = await answered(run, capped, silent);
      const second = await answered(run, capped, silent);
      const [estimated] = run.store.outcomes.filter(({ kind }) => kind === 'completed');
      expect(estimated?.countedBy).toBe('estimate');
      const { promptTokens = 0, completionTokens = 0 } = estimated?.usage ?? {};
      expect(promptTokens + completionTokens).toBeGreaterThan(0);
      expect(Number(tokens(first)[1]) - Number(tokens(second)[1])).toBe(promptTokens + completionTokens);
    });

    it('grow with a stream that runs past its estimate', async () => {
      const run = begin({ credential: credentialOf({ key: { tokensPerMinute: 600 } }) });
      const stream = run.send({ body: JSON.stringify({ ...askStream, max_tokens: 16 }) });
      const engine = await run.upstream.called(0);
      head(engine);
      engine.data(hello);
      run.clock.advance(200);
      engine.data(chunk({ content: 'word '.repeat(2_000) }));
      await settle();
      const refused = run.send();
      await refused.answered;
      expect([refused.status(), tokens(refused)[1]]).toEqual([429, '0']);
      engine.data(chunk({}, 'stop') + done);
      engine.end();
      await stream.answered;
    });

    it('that are not enforced let requests pass, and mark those beyond them', async () => {
      const key = { rate: 1, burst: 1, tokensPerMinute: 60, notEnforced: ['rate', 'tokens', 'budget'] } as const;
      const budget = { limit: 1n, period: 'day' } as const;
      const run = begin({ credential: credentialOf({ key: { ...key, budget }, spent: 1n }) });
      const first = await answered(run, ask);
      const long = run.send({ body: JSON.stringify(ask) });
      await settle();
      const beside = await answered(run, ask, wholeJson);
      await answerJson(run, 1);
      await long.answered;
      await settle();
      const marks = [first, long, beside].map((each) => [each.status(), header(each, 'x-weir-would-refuse')]);
      expect(marks).toEqual([
        [200, 'budget'],
        [200, 'rate, budget'],
        [200, 'rate, tokens, budget'],
      ]);
      expect(run.ends.map(({ wouldRefuse }) => wouldRefuse.join())).toEqual(
        expect.arrayContaining(['budget', 'rate,budget', 'rate,tokens,budget']),
      );
      // Twin: a limit that is enforced refuses.
      const strict = credentialOf({ key: { ...key, notEnforced: ['rate', 'tokens'], budget }, spent: 1n });
      const refused = begin({ credential: strict }).send();
      await refused.answered;
      expect([refused.status(), header(refused, 'x-weir-would-refuse')]).toEqual([402, undefined]);
    });

    it('are in no header without such a limit', async () => {
      expect(tokens(await answered(begin(), capped))).toEqual([undefined, undefined, undefined]);
    });
  });

  it('of concurrency free the slot on every exit, before the answer ends', async () => {
    const run = begin({ credential: credentialOf({ workspace: { maxInFlight: 1 } }) });
    const exits: readonly (() => Promise<unknown>)[] = [
      async () => {
        const exchange = run.send();
        const engine = await run.upstream.called(run.upstream.calls.length);
        const refused = run.send();
        await refused.answered;
        expect([refused.status(), header(refused, 'retry-after')]).toEqual([429, '1']);
        engine.answer('application/json', wholeJson);
        await exchange.answered;
      },
      async () => run.send({ body: '{' }).answered,
      async () => run.send({ headers: { ...authorized, 'content-length': '99999999' } }).answered,
      async () => {
        const exchange = run.send({ body: JSON.stringify(askStream) });
        const engine = await run.upstream.called(run.upstream.calls.length);
        head(engine);
        engine.data(hello);
        exchange.leave();
        await settle();
      },
      async () => {
        const exchange = run.send({ body: undefined });
        await settle();
        exchange.leave();
        await settle();
      },
      async () => {
        const exchange = run.send();
        const from = run.upstream.calls.length;
        (await run.upstream.called(from)).fail('ECONNREFUSED');
        (await run.upstream.called(from + 1)).fail('ECONNREFUSED');
        await exchange.answered;
        expect(exchange.status()).toBe(502);
      },
      async () => run.send({ body: JSON.stringify({ ...ask, model: 'demo/other' }) }).answered,
    ];
    for (const exit of exits) {
      await exit();
      const next = run.send({ body: '{' });
      await next.answered;
      expect(next.status()).toBe(400);
    }
  });

  it.each([
    ['of open requests keep a fifth free from a workspace that has the others, until one of its requests ends', 10, 8],
    ['of open requests would let it take all', undefined, 10],
  ])('%s', async (_, maxOpen, open) => {
    const run = begin({ ...(maxOpen !== undefined && { maxOpen }) });
    const sent = Array.from({ length: 10 }, () => run.send({ body: JSON.stringify(askStream) }));
    await settle();
    expect(run.upstream.calls).toHaveLength(open);
    expect(run.refusals.map(({ code, limit }) => [code, limit])).toEqual(
      Array(10 - open).fill(['overloaded', 'open-requests']),
    );
    for (const exchange of sent) exchange.leave();
    await settle();
    run.send({ body: JSON.stringify(askStream) }).leave();
    await settle();
    expect(run.refusals).toHaveLength(10 - open);
  });

  it('of uploads refuse with the headers of 429, and every exit frees the memory', async () => {
    const uploadLimits = { workspaceBytes: 128 * 1024, addressBytes: 128 * 1024, totalBytes: 1024 ** 2 };
    const prepared = Promise.withResolvers<PreparedRequest>();
    const run = begin({ uploadLimits, prepare: () => prepared.promise });
    const waiting = [run.send(), run.send({ body: undefined })];
    await settle();
    const refused = run.send();
    await refused.answered;
    expect([refused.status(), header(refused, 'retry-after'), ...limitHeaders(refused)]).toEqual([
      ...[429, '1', '100', '197', '1'],
    ]);
    expect(bodyOf(refused)).toEqual({ error: { type: 'service_error', message: expect.any(String) as string } });
    // One body waits to be read, the other one to arrive.
    expect([run.uploads.bytes(), run.uploads.arriving(), run.refusals[0]?.limit]).toEqual([
      128 * 1024,
      1,
      'upload-workspace',
    ]);
    prepared.reject(new Error('no JSON'));
    await waiting[0]?.answered;
    expect(run.uploads.bytes()).toBe(64 * 1024);
    run.clock.advance(21_000);
    await waiting[1]?.answered;
    expect([waiting[1]?.status(), waiting[1] && bodyOf(waiting[1])]).toEqual([
      400,
      { error: { type: 'invalid_request_error', message: 'The request body did not arrive in time.' } },
    ]);
    expect(run.uploads.bytes()).toBe(0);
    await expectClean(run, 0);
  });

  it('of money count requests under way until they are settled', async () => {
    const run = begin({ credential: credentialOf({ key: { budget: { limit: 1_000_000n, period: 'day' } } }) });
    const exchange = run.send({ body: JSON.stringify(askStream) });
    const engine = await run.upstream.called(0);
    head(engine);
    run.clock.advance(100);
    engine.data(chunk({ role: 'assistant', content: 'a' }) + chunk({ content: 'b' }));
    const refused = run.send();
    await refused.answered;
    expect([refused.status(), header(refused, 'retry-after'), ...limitHeaders(refused)]).toEqual([
      ...[402, undefined, undefined, undefined, undefined],
    ]);
    engine.data(chunk({}, 'stop') + done);
    engine.end();
    await exchange.answered;
    const next = run.send({ body: '{' });
    await next.answered;
    expect(next.status()).toBe(400);
  });

  it('of money let one of 64 simultaneous requests reach an engine if the budget is for one, and the others cost nothing', async () => {
    const run = begin({ credential: credentialOf({ key: { budget: { limit: 400_000n, period: 'day' } } }) });
    const exchanges = Array.from({ length: 64 }, () => run.send());
    const engine = await run.upstream.called(0);
    await Promise.all(exchanges.slice(1).map(({ answered }) => answered));
    expect(run.upstream.calls).toHaveLength(1);
    expect(new Set(exchanges.slice(1).map((each) => each.status()))).toEqual(new Set([402]));
    expect(run.store.outcomes).toEqual([]);
    engine.answer('application/json', wholeJson);
    await exchanges[0]?.answered;
    expect(exchanges[0]?.status()).toBe(200);
    await expectClean(run, 1);
  });

  it('of failed authentication block an address before its key is read, but not from the list of models', async () => {
    const run = begin();
    const from = (address: string, more: FakeExchangeOptions = {}): FakeExchange => run.send({ address, ...more });
    const stranger = '203.0.113.7';
    for (let count = 0; count < 31; count += 1) {
      const exchange = from(stranger, { headers: {} });
      await exchange.answered;
      expect(exchange.status()).toBe(401);
    }
    const shutOut = from(stranger);
    const lost = from(stranger, { path: '/v1/other' });
    const reader = from(stranger, { method: 'GET', path: '/v1/models' });
    const other = from('203.0.113.8', { body: '{' });
    await Promise.all([shutOut, lost, reader, other].map(({ answered }) => answered));
    expect([shutOut, lost, reader, other].map((each) => each.status())).toEqual([429, 404, 200, 400]);
    expect([header(shutOut, 'retry-after'), ...limitHeaders(shutOut)]).toEqual([
      ...['30', undefined, undefined, undefined],
    ]);
  });
});
