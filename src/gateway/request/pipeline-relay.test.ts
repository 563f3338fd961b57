/** Answers on their way to the caller, streamed and whole. */
import { describe, expect, it } from 'vitest';
import { answerPaths } from '../../core/api-paths.ts';
import {
  idleMs,
  keepAliveMs,
  ask,
  askStream,
  events,
  chunk,
  done,
  hello,
  wholeStream,
  wholeJson,
  cost,
  begin,
  bodyOf,
  header,
  settle,
  expectClean,
  head,
} from '../../../test/support/pipeline-run.ts';
import type { WebSearch } from './search-loop.ts';

const deltasOf = (text: string): readonly object[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].flatMap(([, data = '']) =>
    (JSON.parse(data) as { readonly choices: readonly { readonly delta: object }[] }).choices.map(({ delta }) => delta),
  );

describe('a streamed answer', () => {
  it('goes out in our words, with the bill in its last chunk, and is settled once', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(askStream) });
    (await run.upstream.called(0)).answer(events, wholeStream);
    await exchange.answered;
    expect({ status: exchange.status(), type: header(exchange, 'content-type') }).toEqual({
      status: 200,
      type: events,
    });
    const frames = exchange.text().split('\n\n');
    expect(frames.slice(-3)).toEqual([expect.stringContaining('"cost":0.00000252'), 'data: [DONE]', '']);
    expect(exchange.text()).not.toMatch(/up-1|up\/x/);
    expect(run.store.outcomes).toMatchObject([
      { kind: 'completed', cost, attempts: 1, routeId: 'tiny@a', stream: true },
    ]);
    await expectClean(run, 1);
    expect({ beginnings: exchange.beginnings(), endings: exchange.endings(), released: run.released() }).toEqual({
      beginnings: 1,
      endings: 1,
      released: 1,
    });
  });

  it('does not begin before there is output', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(askStream) });
    const engine = await run.upstream.called(0);
    head(engine);
    engine.data(': keep-alive\n\n');
    await settle();
    expect(exchange.beginnings()).toBe(0);
    engine.data(chunk({ role: 'assistant', content: 'H' }));
    expect(exchange.beginnings()).toBe(1);
    exchange.leave();
    await expectClean(run, 1);
  });

  it('that breaks off is continued by another route: one answer, one bill', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(askStream) });
    const engine = await run.upstream.called(0);
    head(engine);
    engine.data(chunk({ role: 'assistant', content: '' }) + chunk({ content: 'Hel' }));
    engine.fail('ECONNRESET');
    const second = await run.upstream.called(1);
    expect(JSON.parse(String(second.call.body))).toMatchObject({
      messages: [...ask.messages, { role: 'assistant', content: 'Hel' }],
      continue_final_message: true,
    });
    head(second);
    second.data(chunk({ role: 'assistant', content: '' }) + chunk({ content: 'lo' }) + chunk({}, 'stop'));
    second.data(
      `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 13, completion_tokens: 1 } })}\n\n${done}`,
    );
    second.end();
    await exchange.answered;
    const frames = exchange.text().trimEnd().split('\n\n');
    const chunks = frames.slice(0, -1).map((frame) => JSON.parse(frame.slice(6)));
    expect(chunks.map(({ choices: [choice] }) => choice?.delta.content).join('')).toBe('Hello');
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(run.store.outcomes).toMatchObject([
      { kind: 'completed', usage: { promptTokens: 12, completionTokens: 2 }, countedBy: 'estimate', attempts: 2 },
    ]);
    await expectClean(run, 1);
  });

  it('that no route can continue ends in the terminal chunk and [DONE], and bills what was delivered', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(askStream) });
    const engine = await run.upstream.called(0);
    head(engine);
    engine.data(hello);
    engine.fail('ECONNRESET');
    (await run.upstream.called(1)).fail('ECONNREFUSED');
    await exchange.answered;
    const frames = exchange.text().trimEnd().split('\n\n');
    expect(frames.at(-1)).toBe('data: [DONE]');
    expect(JSON.parse(frames.at(-2)?.slice(6) ?? '')).toMatchObject({
      choices: [{ finish_reason: 'error' }],
      error: { code: 'stream_interrupted', type: 'service_error' },
    });
    expect(run.store.outcomes).toMatchObject([
      { kind: 'interrupted', usage: { promptTokens: 0, completionTokens: 2 }, countedBy: 'estimate' },
    ]);
    expect(run.upstream.calls).toHaveLength(2);
    await expectClean(run, 1);
  });

  it('is kept alive while the engines are silent, and then goes on', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(askStream) });
    const engine = await run.upstream.called(0);
    head(engine);
    run.clock.advance(idleMs - 1);
    expect(exchange.status()).toBeUndefined();
    const patient = begin({ idleMs: 100_000 });
    const waiting = patient.send({ body: JSON.stringify(askStream) });
    const slow = await patient.upstream.called(0);
    patient.clock.advance(2 * keepAliveMs);
    expect(waiting.status()).toBe(200);
    expect(deltasOf(waiting.text())).toEqual([{ role: 'assistant', content: '' }, {}]);
    slow.answer(events, wholeStream);
    await waiting.answered;
    expect(waiting.text()).toMatch(/^data: .*data: \[DONE\]\n\n$/s);
    expect(deltasOf(waiting.text()).filter((delta) => 'role' in delta)).toHaveLength(1);
    expect(waiting.beginnings()).toBe(1);
    await expectClean(patient, 1);
    run.clock.advance(1);
    (await run.upstream.called(1)).fail('ECONNREFUSED');
    await exchange.answered;
    expect(exchange.status()).toBe(502);
  });

  const patch = { name: 'patch', description: 'Patches.' };
  const custom = {
    chat: { ...ask, tools: [{ type: 'custom', custom: patch }] },
    messages: { ...ask, max_tokens: 9, tools: [{ ...patch, input_schema: {} }] },
    responses: { model: ask.model, input: 'Hi.', tools: [{ type: 'custom', ...patch }] },
  } as const;
  /** What clients count as life: comments are none. */
  const signs = {
    chat: /^data: \{.*"delta":\{\}/gm,
    messages: /^event: ping$/gm,
    responses: /^event: response\.in_progress$/gm,
  } as const;

  it.each(['chat', 'messages', 'responses'] as const)(
    'on %s is kept alive by events while the writer holds back what the engine sends',
    async (surface) => {
      const run = begin({ idleMs: 100_000 });
      const exchange = run.send({
        path: answerPaths[surface],
        body: JSON.stringify({ ...custom[surface], stream: true }),
      });
      const engine = await run.upstream.called(0);
      head(engine);
      const call = (index: number, fields: object): string => chunk({ tool_calls: [{ index, ...fields }] });
      engine.data(call(0, { id: 'a', type: 'function', function: { name: 'patch', arguments: '{"input":"' } }));
      engine.data(call(1, { id: 'b', type: 'function', function: { name: 'patch', arguments: '{"input":"' } }));
      await settle();
      const begun = exchange.text().match(signs[surface])?.length ?? 0;
      for (let piece = 0; piece < 6; piece += 1) {
        run.clock.advance(keepAliveMs / 2);
        engine.data(call(1, { function: { arguments: 'x' } }));
        await settle();
      }
      expect((exchange.text().match(signs[surface])?.length ?? 0) - begun).toBe(3);
      exchange.leave();
      await expectClean(run, 1);
    },
  );

  it('that was kept alive and then failed everywhere ends in the terminal chunk, and bills nothing', async () => {
    const run = begin({ idleMs: 100_000 });
    const exchange = run.send({ body: JSON.stringify(askStream) });
    const engine = await run.upstream.called(0);
    run.clock.advance(keepAliveMs);
    engine.fail('ECONNRESET');
    (await run.upstream.called(1)).fail('ECONNREFUSED');
    await exchange.answered;
    expect(exchange.text()).toMatch(/^data: .*\n\ndata: .*"stream_interrupted".*\n\ndata: \[DONE\]\n\n$/);
    expect(run.store.outcomes).toMatchObject([{ kind: 'failed', cost: 0n }]);
    await expectClean(run, 1);
  });

  it('whose row cannot be written ends in the terminal chunk and [DONE], without a usage chunk', async () => {
    const run = begin({ settleFailure: new Error('disk is full') });
    const exchange = run.send({ body: JSON.stringify(askStream) });
    (await run.upstream.called(0)).answer(events, wholeStream);
    await exchange.answered;
    const frames = exchange.text().trimEnd().split('\n\n');
    expect(frames.slice(-2)).toEqual([expect.stringContaining('"stream_interrupted"'), 'data: [DONE]']);
    expect(exchange.text()).not.toContain('"cost"');
    expect(exchange.text()).not.toContain('disk is full');
    await expectClean(run, 1);
    expect(run.refusals.map(({ code }) => code)).toEqual(['internal']);
    expect(exchange.endings()).toBe(1);
  });

  it('holds the engine back while its caller does not read', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(askStream) });
    const engine = await run.upstream.called(0);
    head(engine);
    exchange.fill();
    engine.data(hello);
    expect(engine.paused()).toBe(true);
    run.clock.advance(10 * idleMs);
    expect(run.faults).toEqual([]);
    exchange.drain();
    expect(engine.paused()).toBe(false);
    engine.data(chunk({}, 'stop') + done);
    engine.end();
    await exchange.answered;
    await expectClean(run, 1);
  });
});

describe('a whole answer', () => {
  it('goes out in our words with its bill, after it was settled', async () => {
    const run = begin();
    const exchange = run.send();
    (await run.upstream.called(0)).answer('application/json', wholeJson);
    await exchange.answered;
    expect({ status: exchange.status(), body: bodyOf(exchange) }).toMatchObject({
      status: 200,
      body: { object: 'chat.completion', model: 'demo/tiny', usage: { total_tokens: 14, cost: 0.000_002_52 } },
    });
    expect(run.store.outcomes).toMatchObject([{ kind: 'completed', cost, stream: false }]);
    await expectClean(run, 1);
  });

  it('whose row cannot be written is a 503, and the answer is not given away', async () => {
    const run = begin({ settleFailure: new Error('disk is full') });
    const exchange = run.send();
    (await run.upstream.called(0)).answer('application/json', wholeJson);
    await exchange.answered;
    expect({ status: exchange.status(), body: bodyOf(exchange) }).toEqual({
      status: 503,
      body: { error: { message: expect.not.stringContaining('disk') as string, type: 'service_error' } },
    });
    await expectClean(run, 1);
  });

  it('that lacks a choice moves to the next route, for nothing was delivered', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify({ ...ask, n: 2 }) });
    (await run.upstream.called(0)).answer('application/json', wholeJson);
    const second = await run.upstream.called(1);
    second.answer(
      'application/json',
      JSON.stringify({ choices: [0, 1].map((index) => ({ index, message: { content: 'x' }, finish_reason: 'stop' })) }),
    );
    await exchange.answered;
    expect({ status: exchange.status(), faults: run.faults }).toEqual({ status: 200, faults: ['tiny@a truncated'] });
    await expectClean(run, 1);
  });
});

describe('an answer whose first output is a search call, which its caller does not see', () => {
  const search = {
    ...{ price: 0n, seal: { sealNumber: String, sealSource: String, openNumber: () => undefined } },
    provider: { name: 'fake', search: () => Promise.reject(new Error('no search is made')) },
  };
  const body = JSON.stringify({
    ...{ model: 'demo/tiny', max_tokens: 100, stream: true, messages: ask.messages },
    tools: [{ type: 'web_search_20250305', name: 'web_search' }],
  });
  const begun = chunk({ tool_calls: [{ index: 0, id: 'x', function: { name: 'web_search', arguments: '{"que' } }] });

  /** Breaks the answer off on both routes. `said`: what came before the search call. */
  async function breakOff(said: string) {
    const run = begin({ search: search as unknown as WebSearch });
    const exchange = run.send({ path: '/v1/messages', body });
    for (const at of [0, 1]) {
      const engine = await run.upstream.called(at);
      head(engine);
      engine.data(said + begun);
      engine.fail('ECONNRESET');
    }
    await exchange.answered;
    return { run, exchange };
  }

  it('has an end if it breaks off on every route: a 502 that bills nothing', async () => {
    const { run, exchange } = await breakOff('');
    expect({ status: exchange.status(), endings: exchange.endings() }).toEqual({ status: 502, endings: 1 });
    expect(run.store.outcomes).toMatchObject([{ kind: 'failed', cost: 0n, usage: { completionTokens: 0 } }]);
    await expectClean(run, 1);
  });

  it('is interrupted if the caller got a text before it', async () => {
    const { run, exchange } = await breakOff(chunk({ role: 'assistant', content: 'Let me see. ' }));
    expect({ status: exchange.status(), endings: exchange.endings() }).toEqual({ status: 200, endings: 1 });
    expect(exchange.text()).toContain('event: error');
    expect(run.store.outcomes).toMatchObject([{ kind: 'interrupted' }]);
    await expectClean(run, 1);
  });
});

describe('the silence that an engine is allowed before its first output', () => {
  const timeouts = { firstOutputMs: 5 * idleMs, idleMs };
  it.each([
    ['a stream', askStream, {}, idleMs],
    ['a whole answer', ask, {}, 10 * idleMs],
    ['a stream of an engine that loads models on demand', askStream, { engine: 'ollama' }, 10 * idleMs],
    ['a whole answer of such an engine', ask, { engine: 'ollama' }, 10 * idleMs],
    ['a stream, where the Backend has a limit', askStream, { timeouts }, 5 * idleMs],
    ['a whole answer, where the Backend has a limit', ask, { timeouts }, 5 * idleMs],
  ] as const)('%s', async (_, body, backend, allowedMs) => {
    const run = begin({ backend });
    const exchange = run.send({ body: JSON.stringify(body) });
    await run.upstream.called(0);
    run.clock.advance(allowedMs - 1);
    expect(run.upstream.calls).toHaveLength(1);
    run.clock.advance(1);
    (await run.upstream.called(1)).fail('ECONNREFUSED');
    await exchange.answered;
    expect(run.faults).toEqual(['tiny@a stalled', 'tiny@b connect']);
  });
});
