import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';

import { stuckAfterMs } from '../support/stuck-after.ts';
import { type ProgrammableEngine, type ProgrammableEngineOptions, startProgrammableEngine } from './engine.ts';
import { objectOr } from './json-value.ts';

const running: ProgrammableEngine[] = [];
const start = async (options: ProgrammableEngineOptions = {}): Promise<ProgrammableEngine> => {
  const engine = await startProgrammableEngine(options);
  running.push(engine);
  return engine;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map(async (engine) => engine.close()));
});

const question = { model: 'demo-chat', stream: true, messages: [{ role: 'user', content: 'go' }] };
const ask = async (
  engine: { readonly url: string },
  body: object = question,
  init: RequestInit = {},
): Promise<Response> =>
  fetch(`${engine.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body), ...init });
const postJson = async (url: string, body: unknown): Promise<Response> =>
  fetch(url, { method: 'POST', body: JSON.stringify(body) });

describe('the engine', () => {
  test('lists its models, is healthy, and knows no other path', async () => {
    const engine = await start({ models: ['a', { id: 'b', maxModelLen: 512 }] });
    const list = objectOr(await (await fetch(`${engine.url}/v1/models`)).json());
    expect(list).toMatchObject({
      object: 'list',
      data: [
        { id: 'a', owned_by: expect.any(String), max_model_len: 131_072 },
        { id: 'b', max_model_len: 512 },
      ],
    });
    expect((await fetch(`${engine.url}/health`)).status).toBe(200);
    expect((await fetch(`${engine.url}/v1/completions`, { method: 'POST' })).status).toBe(404);
    engine.set({ healthStatus: 503, modelsStatus: 500 });
    expect((await fetch(`${engine.url}/health`)).status).toBe(503);
    expect((await fetch(`${engine.url}/v1/models`)).status).toBe(500);
  });

  test('asks for its key when it has one', async () => {
    const engine = await start({ apiKey: 'secret' });
    expect((await ask(engine)).status).toBe(401);
    const response = await ask(engine, question, { headers: { authorization: 'Bearer secret' } });
    expect(response.status).toBe(200);
    await response.text();
  });

  test('records what it was asked', async () => {
    const engine = await start();
    await (await ask(engine, question, { headers: { 'x-test': 'yes' } })).text();
    await engine.until(() => engine.openRequests() === 0);
    expect(engine.requests()).toMatchObject([
      {
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { 'x-test': 'yes' },
        body: question,
        aborted: false,
        state: 'closed',
      },
    ]);
  });

  test.each([
    ['while it is silent', { fault: 'stall', at: 'before-headers' }],
    ['while it waits for the first token', { firstTokenDelayMs: 600_000 }],
    ['while it streams', { tokenDelayMs: 5, words: 100_000 }],
    ['while it stalls', { stallAfterEvents: 3 }],
    ['while it stalls and shows signs of life', { stallAfterEvents: 3, keepAliveMs: 2 }],
    ['while it writes more than is read', { bytes: 1e9 }],
  ] as const)('sees a client leave %s', async (_, behaviour) => {
    const engine = await start({ behaviour });
    const leaving = new AbortController();
    const response = ask(engine, question, { signal: leaving.signal }).then(async (answer) =>
      answer.body?.getReader().read(),
    );
    await engine.until(() => engine.openRequests() === 1);
    if (!('at' in behaviour) && !('firstTokenDelayMs' in behaviour)) await response;
    leaving.abort();
    await response.catch(() => undefined);
    await engine.until(() => engine.openRequests() === 0);
    expect(engine.requests()[0]?.aborted).toBe(true);
  });

  test('does not call its own faults an abort', async () => {
    const engine = await start();
    for (const fault of ['cut', 'reset', 'truncate', 'end'] as const) {
      engine.set({ fault, at: { events: 2 } });
      await (await ask(engine)).text().catch(() => undefined);
    }
    await engine.until(() => engine.openRequests() === 0);
    expect(engine.requests().map((request) => request.aborted)).toEqual([false, false, false, false]);
  });

  test('obeys for as many requests as told, then does what it did before', async () => {
    const engine = await start({ behaviour: { contentType: 'text/x' } });
    engine.set({ status: 500, times: 2 });
    const seen = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const response = await ask(engine);
      await response.text();
      seen.push([response.status, response.headers.get('content-type')]);
    }
    expect(seen).toEqual([
      [500, 'text/x'],
      [500, 'text/x'],
      [200, 'text/x'],
    ]);
  });

  test('takes directives over HTTP, says what is wrong with them, and forgets them', async () => {
    const engine = await start();
    expect((await postJson(`${engine.url}/control`, { status: 503 })).status).toBe(200);
    expect((await ask(engine)).status).toBe(503);
    expect(await (await fetch(`${engine.url}/control`)).json()).toMatchObject({
      behaviour: { status: 503 },
      requests: 1,
    });
    const refused = await postJson(`${engine.url}/control`, { statsu: 503 });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('statsu is not a directive');
    expect(await (await fetch(`${engine.url}/control/requests`)).json()).toMatchObject([{ body: question }]);
    await fetch(`${engine.url}/control`, { method: 'DELETE' });
    expect(engine.requests()).toEqual([]);
    expect((await ask(engine)).status).toBe(200);
  });

  test('waits for an event until the test is stuck', async () => {
    const engine = await start();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const waiting = engine.until(() => false).catch(String);
    vi.advanceTimersByTime(stuckAfterMs);
    expect(await waiting).toContain('did not see what was waited for');
  });

  test('holds its pauses for as long as a test wants', async () => {
    const engine = await start();
    engine.set({ firstTokenDelayMs: 1, words: 3 });
    const release = engine.holdPauses();
    let isAnswered = false;
    const answer = ask(engine, { ...question, stream: false }).then(async (response) => {
      isAnswered = true;
      return response.text();
    });
    await engine.until(() => engine.openRequests() === 1);
    expect(
      (await ask(engine, { ...question, messages: [{ role: 'user', content: '[[firstTokenDelayMs=0]]' }] })).status,
    ).toBe(200);
    expect(isAnswered).toBe(false);
    release();
    expect(await answer).toContain('"finish_reason":"stop"');
  });

  test('answers on a Unix socket too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'demo-engine-'));
    await start({ unix: join(folder, 'engine.sock') });
    const asked = httpRequest({ socketPath: join(folder, 'engine.sock'), path: '/health' }).end();
    const [response] = await once(asked, 'response');
    expect(response.statusCode).toBe(200);
    response.resume();
    rmSync(folder, { recursive: true });
  });

  test('holds two thousand streams at once and leaves none behind', async () => {
    const engine = await start({ behaviour: { stallAfterEvents: 3, keepAliveMs: 500 } });
    const body = JSON.stringify(question);
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const sockets: Socket[] = Array.from({ length: 2000 }, () =>
      connect(engine.port, '127.0.0.1', function hello(this: Socket) {
        this.write(head);
      }),
    );
    await Promise.all(sockets.map(async (socket) => once(socket, 'data')));
    expect(engine.openRequests()).toBe(2000);
    for (const socket of sockets) socket.destroy();
    await engine.until(() => engine.openRequests() === 0 && engine.openConnections() === 0);
    expect(engine.requests().every((request) => request.aborted)).toBe(true);
  });

  test('sends a huge answer as it is read, byte for byte as long as asked', async () => {
    const engine = await start({ behaviour: { bytes: 20_000_000, reasoning: 'never' } });
    const response = await ask(engine, { ...question, stream: false });
    const json = objectOr(await response.json());
    expect(response.headers.get('transfer-encoding')).toBe('chunked');
    const [choice] = [json['choices']].flat();
    expect(String(objectOr(objectOr(choice)['message'])['content'])).toHaveLength(20_000_000);
    expect(objectOr(json['usage'])['completion_tokens']).toBe(2_500_000);
  });
});

describe('the program', () => {
  const program = new URL('main.ts', import.meta.url).pathname;
  const firstLine = async (stream: NodeJS.ReadableStream): Promise<string> => String((await once(stream, 'data'))[0]);

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'prints where it listens and ends on %s, open streams or not',
    async (signal) => {
      const child = spawn(process.execPath, [program, '--models', 'x,y', '--behaviour', '{"stallAfterEvents":1}']);
      const line = await firstLine(child.stdout);
      const url = /^programmable engine ready (http:\/\/127\.0\.0\.1:\d+)\n$/u.exec(line)?.[1] ?? '';
      const response = await ask({ url }, { ...question, model: 'y' });
      child.kill(signal);
      expect(await once(child, 'exit')).toEqual([0, null]);
      await response.text().catch(() => undefined);
    },
  );

  test('ends when the process that forked it lets go', async () => {
    const child = fork(program, ['--port', '0'], { silent: true });
    expect(await once(child, 'message')).toMatchObject([
      { kind: 'ready', url: expect.stringContaining('http://127.0.0.1:') },
      undefined,
    ]);
    child.disconnect();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test.each([
    [['--port', 'eighty'], '--port must be a number'],
    [['--behaviour', '{"wrods":1}'], 'wrods is not a directive'],
    [['--nonsense'], "Unknown option '--nonsense'"],
  ])('refuses %j with a sentence', async (args, sentence) => {
    const child = spawn(process.execPath, [program, ...args]);
    expect(await firstLine(child.stderr)).toContain(sentence);
    expect(await once(child, 'exit')).toEqual([2, null]);
  });
});
