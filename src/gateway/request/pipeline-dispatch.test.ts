/** What engines refuse, and what the caller gets when every attempt fails. */
import { describe, expect, it } from 'vitest';
import type { FakeCall } from '../../../test/support/fake-upstream.ts';
import {
  ask,
  askStream,
  events,
  begin,
  bodyOf,
  expectClean,
  wholeJson,
  wholeStream,
} from '../../../test/support/pipeline-run.ts';

describe('when every attempt fails', () => {
  it.each([askStream, ask])('a request gets a 502 and nothing is billed (%j)', async (body) => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(body) });
    (await run.upstream.called(0)).fail('ECONNREFUSED');
    const second = await run.upstream.called(1);
    second.head(500);
    second.end();
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

  it('is called once more with all system messages at the start, and remembered', async () => {
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

  it('is not called a third time: a request that it refuses in both forms is the caller’s fault', async () => {
    const run = begin();
    const exchange = run.send(request);
    refuse(await run.upstream.called(0));
    refuse(await run.upstream.called(1));
    await exchange.answered;
    expect(exchange.status()).toBe(400);
    expect(run.upstream.calls).toHaveLength(2);
    // The request had another fault: the next one is sent unchanged.
    run.send(request);
    expect(sentTo(await run.upstream.called(2))).toEqual(messages);
  });

  it('is not called twice for a request without system messages', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify({ ...ask, model: 'demo/anywhere' }) });
    refuse(await run.upstream.called(0));
    await exchange.answered;
    expect([exchange.status(), run.upstream.calls.length]).toEqual([400, 1]);
  });
});

describe('an engine that does not know a field that the service chose', () => {
  const request = (more: object = {}) => ({
    body: JSON.stringify({ ...ask, model: 'demo/anywhere', max_tokens: 9, ...more }),
  });
  const sentTo = (engine: FakeCall): Readonly<Record<string, unknown>> => JSON.parse(String(engine.call.body));
  const refuse = (engine: FakeCall, field: string, status = 422): void => {
    engine.head(status, { 'content-type': 'application/json' });
    const detail = [{ type: 'extra_forbidden', loc: ['body', field], msg: 'Extra inputs are not permitted', input: 9 }];
    engine.data(JSON.stringify({ object: 'error', message: { detail }, type: 'invalid_request_error' }));
    engine.end();
  };

  it.each([
    ['max_tokens', false, { max_tokens: undefined, max_completion_tokens: 9 }],
    ['stream_options', true, { max_tokens: 9, stream: true, stream_options: undefined }],
    ['stream_options.continuous_usage_stats', true, { stream_options: { include_usage: true } }],
  ])('%s gets another form at once, and is remembered', async (field, stream, expected) => {
    const run = begin();
    const answer = (engine: FakeCall): void =>
      stream ? engine.answer(events, wholeStream) : engine.answer('application/json', wholeJson);
    const first = run.send(request({ stream }));
    refuse(await run.upstream.called(0), field);
    const second = await run.upstream.called(1);
    expect({ ...expected, ...sentTo(second) }).toEqual({ ...sentTo(second), ...expected });
    answer(second);
    await first.answered;
    expect(first.status()).toBe(200);

    const next = run.send(request({ stream }));
    const third = await run.upstream.called(2);
    expect({ ...expected, ...sentTo(third) }).toEqual({ ...sentTo(third), ...expected });
    answer(third);
    await next.answered;
    expect([next.status(), run.upstream.calls.length]).toEqual([200, 3]);
    await expectClean(run, 2);
  });

  it('loses one field after the other', async () => {
    const run = begin();
    const exchange = run.send(request({ stream: true }));
    refuse(await run.upstream.called(0), 'max_tokens');
    refuse(await run.upstream.called(1), 'stream_options', 400);
    const third = await run.upstream.called(2);
    expect(sentTo(third)).toMatchObject({ max_completion_tokens: 9 });
    expect(sentTo(third)).not.toHaveProperty('stream_options');
    third.answer(events, wholeStream);
    await exchange.answered;
    expect(exchange.status()).toBe(200);
  });

  it('is not called a third time if it refuses both spellings, and nothing is remembered', async () => {
    const run = begin();
    const exchange = run.send(request());
    refuse(await run.upstream.called(0), 'max_tokens');
    refuse(await run.upstream.called(1), 'max_completion_tokens');
    await exchange.answered;
    expect([exchange.status(), run.upstream.calls.length]).toEqual([400, 2]);
    run.send(request());
    expect(sentTo(await run.upstream.called(2))).toMatchObject({ max_tokens: 9 });
  });

  it('gets a field of the caller as it is: what the caller asks for is not left out', async () => {
    const run = begin();
    const exchange = run.send(request({ temperature: 0.5 }));
    refuse(await run.upstream.called(0), 'temperature');
    await exchange.answered;
    expect([exchange.status(), run.upstream.calls.length]).toEqual([400, 1]);
  });

  it('changes nothing for other routes', async () => {
    const run = begin();
    const first = run.send(request());
    refuse(await run.upstream.called(0), 'max_tokens');
    (await run.upstream.called(1)).answer('application/json', wholeJson);
    await first.answered;
    run.send({ body: JSON.stringify({ ...ask, max_tokens: 9 }) });
    expect(sentTo(await run.upstream.called(2))).toMatchObject({ max_tokens: 9 });
  });
});

describe('a 200 that is none', () => {
  const message = { role: 'assistant', content: '' };
  const error = { code: 502, message: 'Provider returned error' };
  it.each<readonly [what: string, choice: object, top: object]>([
    ['an error in the choice', { message, error, finish_reason: 'stop' }, {}],
    ['an error in the message', { message: { ...message, error }, finish_reason: 'stop' }, {}],
    ['an error beside the choices', { message, finish_reason: 'stop' }, { error }],
    ['a failed status', { message, finish_reason: 'stop' }, { status: 'failed' }],
    ['a word that means a fault', { message, finish_reason: 'ERROR' }, {}],
    ['a text of no type', { message: { ...message, content: { a: 1 } }, finish_reason: 'stop' }, {}],
    ['no message', { finish_reason: 'stop' }, {}],
  ])('is answered by the second route: %s', async (_, choice, top) => {
    for (const stream of [false, true]) {
      const run = begin();
      const exchange = run.send({ body: JSON.stringify({ ...ask, stream }) });
      const said = JSON.stringify({ choices: [{ index: 0, ...choice }], ...top });
      const bad = await run.upstream.called(0);
      if (stream) bad.answer(events, `data: ${said.replace('"message":{', '"delta":{')}\n\ndata: [DONE]\n\n`);
      else bad.answer('application/json', said);
      const good = await run.upstream.called(1);
      if (stream) good.answer(events, wholeStream);
      else good.answer('application/json', wholeJson);
      await exchange.answered;
      expect(exchange.status()).toBe(200);
      expect(exchange.text()).toContain('Hel');
      await expectClean(run, 1);
    }
  });
});

describe('an error that the operator has to end', () => {
  it.each([
    ['text/html', 413, '<html><h1>413 Request Entity Too Large</h1></html>', 'misconfigured'],
    ['text/plain', 400, 'Client sent an HTTP request to an HTTPS server.', 'not-found'],
    [
      'application/json',
      400,
      '{"error":{"message":"tool choice requires --enable-auto-tool-choice"}}',
      'misconfigured',
    ],
  ])('is no 400 for the caller: %s %i', async (type, status, body, refusedFor) => {
    const run = begin();
    const exchange = run.send();
    for (const index of [0, 1]) {
      const engine = await run.upstream.called(index);
      engine.head(status, { 'content-type': type });
      engine.data(body);
      engine.end();
    }
    await exchange.answered;
    expect(exchange.status()).toBe(502);
    expect(exchange.text()).toContain('a retry will not help now');
    expect(run.store.outcomes).toMatchObject([{ kind: 'failed', refusedFor }]);
    await expectClean(run, 1);
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

  it.each([askStream, ask])('a request gets the same 400 if engines say so with status 200 (%j)', async (body) => {
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

  it('a request gets a 502 if one of them failed otherwise: that engine might have had the room', async () => {
    const run = begin();
    const exchange = run.send();
    (await run.upstream.called(0)).answer('application/json', tooLong);
    const second = await run.upstream.called(1);
    second.head(503);
    second.end();
    await exchange.answered;
    expect(exchange.status()).toBe(502);
  });
});
