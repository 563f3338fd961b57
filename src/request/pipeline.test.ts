// @suite apart
import { describe, expect, it } from 'vitest';
import type { Credential, Outcome } from '../core/account.ts';
import type { RequestHead } from '../core/exchange.ts';
import type { Failure } from '../core/failure.ts';
import type { PreparedRequest } from '../core/prompt.ts';
import type { RequestEnd } from '../core/telemetry.ts';
import { type EndedSpan, readTraceparent, type RequestTrace, writeTraceparent } from '../core/trace.ts';
import { createAddressGate } from '../admission/address-gate.ts';
import { overloadLimits } from '../admission/overload.ts';
import { createUploads, uploadLimits, type UploadLimits } from '../admission/uploads.ts';
import { createSnapshots } from '../catalog/snapshots.ts';
import { createHedgeBudget } from '../dispatch/hedge.ts';
import { createStructureRetries } from '../dispatch/retries.ts';
import { createAnswerLengths } from '../metering/expected-output.ts';
import { createMemoryLimits } from '../rate-limits/memory.ts';
import { createAffinity } from '../routing/affinity.ts';
import { neverSeen } from '../routing/health/route-status.ts';
import { createSystemPlacement } from '../routing/system-placement.ts';
import { createStories, type Stories } from '../telemetry/stories.ts';
import { createPipeline } from './pipeline.ts';
import { prepareHere } from './prepare.ts';
import { credentialOf } from '../../test/support/credential-of.ts';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { createFakeExchange, type FakeExchange, type FakeExchangeOptions } from '../../test/support/fake-exchange.ts';
import { createFakeStore } from '../../test/support/fake-store.ts';
import { createFakeUpstream, type FakeCall } from '../../test/support/fake-upstream.ts';
import { modelOf, routeOf, snapshotOf } from '../../test/support/route-of.ts';
import { silentTelemetry } from '../../test/support/silent-telemetry.ts';
import { steadyHealth } from '../../test/support/steady-health.ts';
import { keptHeap } from '../../test/support/kept-heap.ts';
import { noTokenizers, uncounted } from '../../test/support/uncounted.ts';

const idleMs = 1000;
const keepAliveMs = 15_000;
const key = 'sk-weir-good';
const authorized = { authorization: `Bearer ${key}` };
const ask = { model: 'demo/tiny', messages: [{ role: 'user', content: 'CANARY-prompt' }] };
const askStream = { ...ask, stream: true, stream_options: { include_usage: true } };
const events = 'text/event-stream; charset=utf-8';

const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'up-1', object: 'chat.completion.chunk', model: 'up/x', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
const usage = {
  prompt_tokens: 12,
  completion_tokens: 2,
  total_tokens: 14,
  prompt_tokens_details: { cached_tokens: 4 },
};
const usageChunk = `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
const done = 'data: [DONE]\n\n';
const hello = chunk({ role: 'assistant', content: '' }) + chunk({ content: 'Hel' }) + chunk({ content: 'lo' });
const wholeStream = `${hello}${chunk({}, 'stop')}${usageChunk}${done}`;
const wholeJson = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage,
});
/** 8 × 150,000 + 4 × 30,000 + 2 × 600,000. */
const cost = 2_520_000n;

const idleLoad = {
  current: () => ({ eventLoopDelayMs: 0, ownDelayMs: 0, memoryShare: 0, medianWaitMs: 0, queuedForMs: 0 }),
  ...{ arrived: () => undefined, limits: overloadLimits(1024 ** 3) },
};

interface BeginOptions {
  readonly uploadLimits?: UploadLimits;
  readonly credential?: Credential;
  readonly settleFailure?: Error;
  readonly idleMs?: number;
  /** Whether calls are on a connection, and whether their engine is usually at work by then. */
  readonly reaches?: boolean;
  readonly isAnswering?: boolean;
  readonly prepare?: (body: Uint8Array) => PreparedRequest | Promise<PreparedRequest>;
  /** Remembers the requests of this run, and outlives it. */
  readonly stories?: Stories;
  readonly traceOf?: (head: RequestHead) => RequestTrace | undefined;
}

function begin(options: BeginOptions = {}) {
  const store = createFakeStore({
    credentials: new Map([[`hash of ${key}`, options.credential ?? credentialOf()]]),
    ...(options.settleFailure === undefined ? {} : { failure: options.settleFailure }),
  });
  const clock = createFakeClock();
  const limits = createMemoryLimits(clock);
  const uploads = createUploads({
    clock,
    limits: options.uploadLimits ?? uploadLimits(1024 ** 3),
  });
  const upstream = createFakeUpstream(options);
  const refusals: Failure[] = [];
  const ends: RequestEnd[] = [];
  const told: Outcome[] = [];
  const faults: string[] = [];
  let released = 0;
  let ids = 0;
  const snapshots = createSnapshots(
    snapshotOf([
      modelOf([routeOf('a'), routeOf('b')]),
      modelOf([], { id: 'demo/empty' }),
      modelOf([routeOf('c', { capabilities: { systemMessages: 'Anywhere' } })], { id: 'demo/anywhere' }),
    ]),
    () => undefined,
  );
  const countRelease = (prepared: PreparedRequest): PreparedRequest => ({
    ...prepared,
    release: () => (released += 1),
  });
  const pipeline = createPipeline({
    ...{
      store,
      clock,
      limits,
      gate: createAddressGate({ clock }),
      uploads,
      upstream,
      snapshots,
      tokenizers: noTokenizers,
      idleMs: options.idleMs ?? idleMs,
      keepAliveMs,
      load: idleLoad,
      health: { ...steadyHealth({ isAnswering: () => options.isAnswering ?? false }), ...neverSeen },
      affinityOf: createAffinity(() => 'x'),
      answerLengths: createAnswerLengths(),
      hedges: createHedgeBudget(),
      structureRetries: createStructureRetries({ clock }),
      placement: createSystemPlacement(),
      structures: { check: () => Promise.resolve({ kind: 'valid' }) },
      random: () => 0,
      newId: () => `${(ids += 1)}`,
      modelList: (models) => JSON.stringify({ object: 'list', models }),
      traceOf: options.traceOf,
    },
    looksLikeKey: (text) => text.startsWith('sk-weir-'),
    hashKey: (text) => `hash of ${text}`,
    sharedSecret: () => 'the shared secret',
    abuseContact: 'abuse@example.com',
    prepare:
      options.prepare ?? ((body, surface) => countRelease(prepareHere(body, { surface, countPrompt: uncounted }))),
    telemetry: {
      ...silentTelemetry,
      outcome: (outcome) => told.push(outcome),
      ended: (end) => {
        ends.push(end);
        if (end.failure !== undefined) refusals.push(end.failure);
      },
      implausibleUsage: (_, route) => faults.push(`${route} implausible usage`),
      attempt: (requestId, start) => ({
        ...silentTelemetry.attempt(requestId, start),
        ended: (end) => {
          if (end.kind === 'failed') faults.push(`${start.routeId} ${end.fault.kind}`);
        },
      }),
      ...options.stories,
    },
  });
  const send = (given: FakeExchangeOptions = {}): FakeExchange => {
    const exchange = createFakeExchange({ headers: authorized, body: JSON.stringify(ask), ...given });
    pipeline.handle(exchange);
    return exchange;
  };
  return {
    store,
    clock,
    upstream,
    refusals,
    ends,
    told,
    faults,
    pipeline,
    snapshots,
    uploads,
    released: () => released,
    send,
  };
}

type Run = ReturnType<typeof begin>;
const bodyOf = (exchange: FakeExchange): unknown => JSON.parse(exchange.text());
const header = (exchange: FakeExchange, name: string): string | undefined =>
  exchange.headers().find(([each]) => each === name)?.[1];

/** Lets everything that is ready to run do so. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}

/** What must hold after every request, however it ended. */
async function expectClean({ pipeline, clock, upstream, store, told }: Run, rows: number): Promise<void> {
  await settle();
  expect({
    ...{ rows: store.outcomes.length, told: told.length, inFlight: pipeline.inFlight(), timers: clock.armed() },
    upstream: upstream.inFlight('cluster-a') + upstream.inFlight('cluster-b'),
  }).toEqual({ rows, told: rows, inFlight: 0, timers: 0, upstream: 0 });
}

const head = (engine: FakeCall, type = events): void => engine.head(200, { 'content-type': type });

describe('a trace', () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const span = (id: number, isSampled: boolean) => ({ traceId, spanId: String(id).padStart(16, '0'), isSampled });

  /** A run whose spans have the ids 1, 2, … */
  function traced(isSampled: boolean) {
    const spans: EndedSpan[] = [];
    const clock = createFakeClock();
    const stories = createStories({ clock, process: 'p', tellSpans: (told) => spans.push(...told) });
    let made = 1;
    const place = span(1, isSampled);
    const child = () => (isSampled ? span((made += 1), isSampled) : place);
    const ends: RequestEnd[] = [];
    const ended: Stories['ended'] = (end) => {
      ends.push(end);
      stories.ended(end);
    };
    const traceOf = (): RequestTrace => ({ place, parentId: 'edge', child });
    const run = begin({ stories: { ...stories, ended }, traceOf });
    const sent = (number: number) => readTraceparent(run.upstream.calls[number]?.call.traceparent ?? '');
    return { run, spans, sent, ends };
  }

  it('that is sampled goes on to each engine under the span of its attempt, and is named in the record of its end', async () => {
    const { run, spans, sent, ends } = traced(true);
    const exchange = run.send({ body: JSON.stringify(askStream) });
    (await run.upstream.called(0)).fail('ECONNREFUSED');
    (await run.upstream.called(1)).answer(events, wholeStream);
    await exchange.answered;
    await settle();
    const attempts = spans.filter(({ kind }) => kind === 'client');
    expect(attempts).toMatchObject([
      { parentId: span(1, true).spanId, attributes: { 'error.type': 'connect', 'weir.attempt.reason': 'first' } },
      {
        parentId: span(1, true).spanId,
        attributes: {
          'weir.attempt.reason': 'failover',
          'gen_ai.usage.input_tokens': 12,
          'gen_ai.usage.output_tokens': 2,
          'gen_ai.response.model': 'up/x',
          'gen_ai.response.finish_reasons': ['stop'],
        },
      },
    ]);
    expect([sent(0)?.spanId, sent(1)?.spanId]).toEqual(attempts.map(({ spanId }) => spanId));
    expect(spans.map(({ name }) => name.replace(/ .*/, ''))).toEqual(
      expect.arrayContaining(['admission', 'receive', 'read', 'plan', 'settle', 'commit']),
    );
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    expect(ends).toMatchObject([{ traceId }]);
    expect(JSON.stringify(spans)).not.toMatch(/CANARY|sk-weir/);
  });

  it('that is not sampled makes no span and goes on to engines as it came', async () => {
    const { run, spans, ends } = traced(false);
    const exchange = run.send({ body: JSON.stringify(askStream) });
    (await run.upstream.called(0)).answer(events, wholeStream);
    await exchange.answered;
    await settle();
    expect(spans).toEqual([]);
    expect(run.upstream.calls[0]?.call.traceparent).toBe(writeTraceparent(span(1, false)));
    expect(ends).toMatchObject([{ traceId: undefined }]);
  });

  it('that nobody keeps leaves no header', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(askStream) });
    (await run.upstream.called(0)).answer(events, wholeStream);
    await exchange.answered;
    expect(run.upstream.calls[0]?.call).not.toHaveProperty('traceparent');
  });
});

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

  it('that nobody can continue ends in the terminal chunk and [DONE], and bills what was delivered', async () => {
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
    expect({ status: waiting.status(), text: waiting.text() }).toEqual({
      status: 200,
      text: ': keep-alive\n\n: keep-alive\n\n',
    });
    slow.answer(events, wholeStream);
    await waiting.answered;
    expect(waiting.text()).toMatch(/^(: keep-alive\n\n){2}data: .*data: \[DONE\]\n\n$/s);
    expect(waiting.beginnings()).toBe(1);
    await expectClean(patient, 1);
    run.clock.advance(1);
    (await run.upstream.called(1)).fail('ECONNREFUSED');
    await exchange.answered;
    expect(exchange.status()).toBe(502);
  });

  it('that was kept alive and then failed everywhere ends in the terminal chunk, and bills nothing', async () => {
    const run = begin({ idleMs: 100_000 });
    const exchange = run.send({ body: JSON.stringify(askStream) });
    const engine = await run.upstream.called(0);
    run.clock.advance(keepAliveMs);
    engine.fail('ECONNRESET');
    (await run.upstream.called(1)).fail('ECONNREFUSED');
    await exchange.answered;
    expect(exchange.text()).toMatch(/^: keep-alive\n\ndata: .*"stream_interrupted".*\n\ndata: \[DONE\]\n\n$/);
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

describe('when every attempt fails', () => {
  it.each([askStream, ask])('a request gets a 502 and nothing is billed (%j)', async (body) => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(body) });
    (await run.upstream.called(0)).fail('ECONNREFUSED');
    (await run.upstream.called(1)).head(500);
    await exchange.answered;
    expect({ status: exchange.status(), body: bodyOf(exchange) }).toEqual({
      status: 502,
      body: { error: { message: expect.any(String) as string, type: 'service_error' } },
    });
    expect(run.store.outcomes).toMatchObject([
      { kind: 'failed', cost: 0n, attempts: 2, usage: { promptTokens: 0, completionTokens: 0 } },
    ]);
    expect(run.faults).toEqual(['tiny@a connect', 'tiny@b status']);
    await expectClean(run, 1);
  });
});

describe('an engine that refuses system messages in the middle', () => {
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'system', content: 'b' },
  ];
  const request = { body: JSON.stringify({ model: 'demo/anywhere', messages }) };
  const leading = [{ role: 'user', content: 'a\n\n<system-message>\nb\n</system-message>' }];
  const sentTo = (engine: FakeCall): unknown =>
    (JSON.parse(String(engine.call.body)) as { messages: unknown }).messages;
  const refuse = (engine: FakeCall): void => {
    engine.head(400, { 'content-type': 'application/json' });
    engine.data('{"error": {"message": "System message must be at the beginning.", "code": 400}}');
    engine.end();
  };
  const answer = '{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}';

  it('is asked once more with leading ones, and remembered', async () => {
    const run = begin();
    const first = run.send(request);
    const refusing = await run.upstream.called(0);
    expect(sentTo(refusing)).toEqual(messages);
    refuse(refusing);
    const second = await run.upstream.called(1);
    expect(sentTo(second)).toEqual(leading);
    second.answer('application/json', answer);
    await first.answered;
    expect(first.status()).toBe(200);
    expect(run.store.outcomes).toMatchObject([{ kind: 'completed', attempts: 2 }]);

    const next = run.send(request);
    const third = await run.upstream.called(2);
    expect(sentTo(third)).toEqual(leading);
    third.answer('application/json', answer);
    await next.answered;
    expect(run.upstream.calls).toHaveLength(3);
    await expectClean(run, 2);
  });

  it('is asked no third time: what it refuses in that form, too, is the caller’s', async () => {
    const run = begin();
    const exchange = run.send(request);
    refuse(await run.upstream.called(0));
    refuse(await run.upstream.called(1));
    await exchange.answered;
    expect(exchange.status()).toBe(400);
    expect(run.upstream.calls).toHaveLength(2);
    // The fault was another one: the next request goes out as it is.
    run.send(request);
    expect(sentTo(await run.upstream.called(2))).toEqual(messages);
  });

  it('is not asked twice for a request without one', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify({ ...ask, model: 'demo/anywhere' }) });
    refuse(await run.upstream.called(0));
    await exchange.answered;
    expect([exchange.status(), run.upstream.calls.length]).toEqual([400, 1]);
  });
});

describe('when every engine says that the prompt is too long', () => {
  const tooLong = JSON.stringify({
    error: { message: "This model's maximum context length is 10 tokens. However, you requested 12 tokens", code: 400 },
  });

  it.each([askStream, ask])('a request gets a 400 that says so, and nothing is billed (%j)', async (body) => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(body) });
    for (const index of [0, 1]) {
      const engine = await run.upstream.called(index);
      engine.head(400, { 'content-type': 'application/json' });
      engine.data(tooLong);
      engine.end();
    }
    await exchange.answered;
    expect({ status: exchange.status(), body: bodyOf(exchange) }).toEqual({
      status: 400,
      body: {
        error: {
          message: expect.any(String) as string,
          type: 'invalid_request_error',
          code: 'context_length_exceeded',
        },
      },
    });
    expect(exchange.text()).not.toContain('10 tokens');
    expect(run.store.outcomes).toMatchObject([{ kind: 'failed', cost: 0n, attempts: 2 }]);
    await expectClean(run, 1);
  });

  it.each([askStream, ask])('inside a 200 too (%j)', async (body) => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(body) });
    (await run.upstream.called(0)).answer('application/json', tooLong);
    (await run.upstream.called(1)).answer(events, `data: ${tooLong}\n\n`);
    await exchange.answered;
    expect({ status: exchange.status(), body: bodyOf(exchange) }).toMatchObject({
      status: 400,
      body: { error: { code: 'context_length_exceeded' } },
    });
  });

  it('but not when one of them failed otherwise: it might have had the room', async () => {
    const run = begin();
    const exchange = run.send();
    (await run.upstream.called(0)).answer('application/json', tooLong);
    (await run.upstream.called(1)).head(503);
    await exchange.answered;
    expect(exchange.status()).toBe(502);
  });
});

describe('a caller who leaves', () => {
  const stages: readonly (readonly [
    when: string,
    body: object,
    prepare: (engine: FakeCall) => void,
    billed: object,
  ])[] = [
    ['after the head of a stream', askStream, (engine) => head(engine), { completionTokens: 0 }],
    ['in the middle of a stream', askStream, (engine) => (head(engine), engine.data(hello)), { completionTokens: 2 }],
    [
      'while a whole answer arrives',
      ask,
      (engine) => (head(engine, 'application/json'), engine.data('{"choices"')),
      { completionTokens: 0 },
    ],
  ];
  it.each(stages)(
    '%s: the engine is let go, and input and delivered output are billed once',
    async (_, body, prepare, billed) => {
      const run = begin();
      const text = JSON.stringify(body);
      const exchange = run.send({ body: text });
      const engine = await run.upstream.called(0);
      prepare(engine);
      exchange.leave();
      expect(engine.aborted()).toBe(true);
      await expectClean(run, 1);
      expect(run.store.outcomes).toMatchObject([
        {
          kind: 'cancelled',
          attempts: 1,
          countedBy: 'estimate',
          // Its text is `CANARY-prompt`.
          usage: { promptTokens: 3, ...billed },
        },
      ]);
      expect({ endings: exchange.endings(), released: run.released(), refusals: run.refusals.length }).toEqual({
        endings: 0,
        released: 1,
        refusals: 0,
      });
    },
  );

  it.each([
    ['whose engine has answered lately, on its connection', { reaches: true, isAnswering: true }, 3],
    ['whose connection is not made', { reaches: false, isAnswering: true }, 0],
    ['whose engine has shown no sign of life', { reaches: true, isAnswering: false }, 0],
  ])('before the head of a request %s pays for what an engine had', async (_, how, promptTokens) => {
    for (const body of [askStream, ask]) {
      const run = begin(how);
      const exchange = run.send({ body: JSON.stringify(body) });
      const engine = await run.upstream.called(0);
      exchange.leave();
      await expectClean(run, 1);
      expect(engine.aborted()).toBe(true);
      expect(run.store.outcomes).toMatchObject([
        { kind: 'cancelled', attempts: 1, usage: { promptTokens, completionTokens: 0 } },
      ]);
    }
  });

  it('while a whole answer is validated pays for it: an engine has made all of it', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify({ ...ask, response_format: { type: 'json_object' } }) });
    (await run.upstream.called(0)).answer('application/json', wholeJson);
    exchange.leave();
    await expectClean(run, 1);
    expect(run.store.outcomes).toMatchObject([{ kind: 'cancelled', usage: { promptTokens: 3 } }]);
  });

  it('with the service’s own connection does not leave: what was delivered is billed, and no prompt', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(askStream) });
    const engine = await run.upstream.called(0);
    head(engine);
    engine.data(hello);
    exchange.lose();
    expect(engine.aborted()).toBe(true);
    await expectClean(run, 1);
    expect(run.store.outcomes).toMatchObject([
      { kind: 'service-lost', usage: { promptTokens: 0, completionTokens: 2 }, attempts: 1 },
    ]);
    expect(run.refusals).toEqual([]);
  });

  it('while the row is written: the whole answer is billed, once', async () => {
    const run = begin();
    const exchange = run.send();
    const engine = await run.upstream.called(0);
    engine.answer('application/json', wholeJson);
    exchange.leave();
    await expectClean(run, 1);
    expect(run.store.outcomes).toMatchObject([{ kind: 'completed', cost }]);
  });

  it('before the body has come: nothing is dispatched, billed or held against the service', async () => {
    const run = begin();
    const exchange = run.send({ body: undefined });
    await settle();
    exchange.leave();
    await expectClean(run, 0);
    expect(run.upstream.calls).toHaveLength(0);
    expect(run.refusals.filter(({ row }) => row.blame === 'service')).toEqual([]);
  });

  it('while the body is read in a worker: nothing is dispatched, and nothing is billed', async () => {
    const prepared = Promise.withResolvers<PreparedRequest>();
    const run = begin({ prepare: () => prepared.promise });
    const exchange = run.send();
    await settle();
    exchange.leave();
    prepared.resolve(
      prepareHere(new TextEncoder().encode(JSON.stringify(ask)), { surface: 'chat', countPrompt: uncounted }),
    );
    await settle();
    expect(run.upstream.calls).toHaveLength(0);
    expect(run.store.outcomes.map((outcome) => outcome.cost)).toEqual(run.store.outcomes.map(() => 0n));
    expect(run.pipeline.inFlight()).toBe(0);
  });
});

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

  it('of a stranger comes before any of the body is read', async () => {
    const run = begin();
    const exchange = run.send({ headers: { 'content-length': '99999999' }, body: undefined });
    await exchange.answered;
    expect(exchange.status()).toBe(401);
  });

  it('of something unexpected is a 503 that tells nothing', async () => {
    const run = begin({ prepare: () => Promise.reject(new TypeError('CANARY is not a function')) });
    const exchange = run.send();
    await exchange.answered;
    expect(exchange.status()).toBe(503);
    expect(exchange.text()).not.toContain('CANARY');
    await expectClean(run, 0);
  });
});

describe('the other paths', () => {
  it('serve the catalog to everybody, a preflight for it, and the liveness check', () => {
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
  ])('is told on %s that another model is not in the catalog, at no cost', async (path, headers) => {
    const run = begin({ credential });
    const exchange = run.send({
      path,
      headers,
      body: JSON.stringify({ ...ask, model: 'demo/anywhere', max_tokens: 9 }),
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

it('names the fields it takes and does not act on, and keeps users from engines', async () => {
  const run = begin();
  const body = {
    ...ask,
    user: 'CANARY-user',
    safety_identifier: 'CANARY-user',
    provider: {},
    transforms: [],
    unknown: 1,
  };
  const exchange = run.send({ body: JSON.stringify(body) });
  const engine = await run.upstream.called(0);
  expect(engine.call.body).not.toContain('CANARY-user');
  engine.answer('application/json', wholeJson);
  await exchange.answered;
  expect(header(exchange, 'x-service-inert-params')).toBe('provider, transforms');
});

it('keeps the snapshot of a request while it runs, and lets go of it at the end', async () => {
  const run = begin();
  const exchange = run.send();
  const engine = await run.upstream.called(0);
  run.snapshots.swap(snapshotOf([], 'two'));
  expect(run.snapshots.clustersInUse().map(({ name }) => name)).toEqual(['cluster-a', 'cluster-b', 'cluster-c']);
  engine.fail('ECONNREFUSED');
  (await run.upstream.called(1)).answer('application/json', wholeJson);
  await exchange.answered;
  await settle();
  expect(run.snapshots.clustersInUse()).toEqual([]);
});

describe('limits (docs/reference/api.md §8)', () => {
  const limitHeaders = (exchange: FakeExchange): readonly (string | undefined)[] =>
    ['limit', 'remaining', 'reset'].map((name) => header(exchange, `x-ratelimit-${name}-requests`));
  const answerJson = async (run: Run, call: number): Promise<void> =>
    (await run.upstream.called(call)).answer('application/json', wholeJson);

  it('of the rate are told with every success, stream or not, and with 429, and with nothing else', async () => {
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

  it('of concurrency free a place on every exit, before the caller hears of it', async () => {
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

  it('of uploads refuse with what 429 tells, and every exit gives the memory back', async () => {
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

  it('of money count what is under way, until it is settled', async () => {
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

  it('of money let one of 64 that come side by side on a budget for one reach an engine, and the others cost nothing', async () => {
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

  it('of failed authentication shut out an address before its key is looked at, but not from the catalog', async () => {
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

describe('the stories of requests', () => {
  it('keep a few kilobytes of each request, and no body', async () => {
    const stories = createStories({ clock: createFakeClock(), process: 'p1' });
    const bodies: string[] = [];
    /** Bytes of the heap that are needed after so many requests, each with a prompt of 200 KB. */
    async function heapAfter(requests: number, keep: (body: string) => void): Promise<number> {
      for (let at = 0; at < requests; at += 1) {
        const run = begin({ stories });
        const content = `${at} `.repeat(200_000).slice(0, 200_000);
        const body = JSON.stringify({ ...askStream, messages: [{ role: 'user', content }] });
        keep(body);
        const exchange = run.send({ body, headers: { ...authorized, 'x-request-id': `corr-${at}` } });
        (await run.upstream.called(0)).answer(events, wholeStream);
        await exchange.answered;
        // Every run has the same ids: this one is over before the next begins.
        await settle();
      }
      return keptHeap();
    }
    // What the test itself and the compiler keep is there after the first ones.
    const before = await heapAfter(100, () => undefined);
    const after = await heapAfter(100, () => undefined);
    expect((after - before) / 100).toBeLessThan(16 * 1024);
    // The twin: what is kept shows.
    expect(((await heapAfter(100, (body) => bodies.push(body))) - after) / 100).toBeGreaterThan(150 * 1024);
    expect([bodies.length, stories.after(0, 1000).requests.length]).toEqual([100, 300]);
    expect(stories.find('corr-99')[0]).toMatchObject({
      ...{ outcome: 'completed', model: 'demo/tiny', attempts: [{ backend: expect.any(String), end: 'complete' }] },
      plan: { routes: [{ state: 'available' }, { state: 'available' }] },
    });
  });
});
