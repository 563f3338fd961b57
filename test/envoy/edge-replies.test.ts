import { connect as connectHttp2 } from 'node:http2';
import { afterEach, describe, expect, it } from 'vitest';
import type { Exchange } from '../../src/core/exchange.ts';
import { startEnvoy } from './support/envoy.ts';
import { answerExtProc } from './support/extproc.ts';
import { type RawAnswer, sendRaw } from './support/raw-http.ts';
import { forFile } from '../support/for-file.ts';

let seen: Exchange | undefined;

const echo = (exchange: Exchange): void => {
  seen = exchange;
  const answer = (body: Uint8Array): void => exchange.reply(200, [], `${exchange.head.path} ${body.length}`);
  exchange.body(64 * 1024 * 1024).then(answer, () => {});
};

const envoy = await forFile(startEnvoy());
await forFile(answerExtProc(envoy.files.extprocSocket, echo));

afterEach(() => {
  seen = undefined;
});

const post = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n';
const get = (path: string, lines = ''): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n${lines}\r\n`;

function expectEnvelope(answer: RawAnswer, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/json');
  const body: unknown = JSON.parse(answer.body);
  const type = status < 500 && status !== 429 ? 'invalid_request_error' : 'service_error';
  expect(body).toEqual({ error: { message: expect.any(String) as unknown, type } });
  expectNothingRevealed(answer);
}

function expectNothingRevealed(answer: RawAnswer): void {
  expect(answer.headers.has('server')).toBe(false);
  expect(answer.text).not.toMatch(/envoy/i);
}

it('a body that takes longer than the edge waits for it is 400 in the envelope, and ends the exchange', async () => {
  const impatient = await startEnvoy({ requestTimeout: '0.5s' });
  let left: AbortSignal | undefined;
  const waiting = await answerExtProc(impatient.files.extprocSocket, (exchange) => {
    left = exchange.signal;
    echo(exchange);
  });
  const answer = await sendRaw(impatient.port, `${post}content-length: 33000000\r\n\r\n{`);
  expectEnvelope(answer, 400);
  expect(answer.body).toContain('The request was not received in time.');
  await expect.poll(() => left?.aborted).toBe(true);
  await waiting.close(0);
  await impatient.stop();
});

describe('the surface', () => {
  it.each([
    ['POST', '/v1/chat/completions'],
    ['POST', '/v1/messages'],
    ['POST', '/v1/messages?beta=true'],
    ['GET', '/v1/models'],
    ['GET', '/v1/models?a=b'],
    ['GET', '/v1/../v1//models'],
    ['OPTIONS', '/v1/models'],
    ['GET', '/healthz'],
  ])('%s %s is answered by the service', async (method, path) => {
    const answer = await sendRaw(envoy.port, `${method} ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`);
    expect(answer.status).toBe(200);
    expect(seen?.head.method).toBe(method);
    expectNothingRevealed(answer);
  });

  it.each([
    'GET /',
    'GET /v1/chat/completions',
    'POST /v1/models',
    'HEAD /v1/messages',
    'OPTIONS /v1/chat/completions',
    'GET /v1/models/',
    'GET /v1/models/x',
    'GET /v1/models/org%2Fmodel',
    'GET /v1%2Fmodels',
    'GET /v1%5cmodels',
    'POST /v1/completions',
    'GET /v1/MODELS',
    'TRACE /v1/models',
    'OPTIONS *',
    'PROPFIND /v1/models',
  ])('%s is 404 and does not reach the service', async (line) => {
    const answer = await sendRaw(envoy.port, `${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    if (line.startsWith('HEAD')) expect(answer.status).toBe(404);
    else expectEnvelope(answer, 404);
    expect(seen).toBeUndefined();
  });

  it.each([
    ['GET /v1/models/qwen%2Fqwen3-8b?key=sk-weir-secret', 'GET /v1/models/qwen%2Fqwen3-8b'],
    ['GET /v1/"quoted"\\path', 'GET /v1/%22quoted%22/path'],
    [`POST /${'a'.repeat(500)}`, `POST /${'a'.repeat(99)}`],
    ['DELETE /v1/models', 'DELETE /v1/models'],
  ])('the 404 of %s repeats what was asked, without the query, and says what there is', async (line, asked) => {
    const answer = await sendRaw(envoy.port, `${line} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`);
    expect(JSON.parse(answer.body)).toEqual({
      error: {
        type: 'invalid_request_error',
        message: `There is nothing at ${asked}. The API has POST /v1/chat/completions, POST /v1/messages, GET /v1/models and GET /healthz.`,
      },
    });
  });

  it.each([
    'POST /v1/messages/count_tokens?beta=true',
    'GET /v1/messages',
    'POST /v1/messages/',
    'POST /v1/messages/batches',
  ])('%s is 404 as the clients of that surface know it', async (line) => {
    const answer = await sendRaw(envoy.port, `${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.body)).toEqual({
      type: 'error',
      error: { message: expect.any(String) as unknown, type: 'invalid_request_error' },
    });
    expectNothingRevealed(answer);
    expect(seen).toBeUndefined();
  });

  it('has the further paths where they are on, with the limit of the list for single models', async () => {
    const further = await startEnvoy({ furtherPaths: 'on', models: { perMinute: 60, burst: 3 } });
    const waiting = await answerExtProc(further.files.extprocSocket, echo);
    const statusOf = async (line: string): Promise<number> =>
      (await sendRaw(further.port, `${line} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`))
        .status;
    for (const line of ['GET /v1/key', 'HEAD /v1/key?a=b', 'POST /v1/messages/count_tokens?beta=true']) {
      expect([line, await statusOf(line)]).toEqual([line, 200]);
    }
    const none = [
      'POST /v1/key',
      'GET /v1/key/',
      'GET /v1/messages/count_tokens',
      'GET /v1/models/',
      'PUT /v1/models/x',
    ];
    for (const line of none) expect([line, await statusOf(line)]).toEqual([line, 404]);
    const models = [
      'GET /v1/models',
      'GET /v1/models/org%2Fmodel?a=b',
      'OPTIONS /v1/models/org/model',
      'HEAD /v1/models/x',
    ];
    const statuses = [];
    for (const line of models) statuses.push(await statusOf(line));
    expect(statuses).toEqual([200, 200, 200, 429]);
    await waiting.close(0);
    await further.stop();
  });

  it('keeps the query', async () => {
    const answer = await sendRaw(envoy.port, get('/v1/models?a=b%2Fc'));
    expect(answer.body).toBe('/v1/models?a=b%2Fc 0');
  });
});

describe('a request that is well formed', () => {
  const upgrade =
    'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AA==\r\n';
  const connect = 'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n';
  const body = 'content-length: 2\r\n\r\n{}';

  it.each<readonly [string, string, number, RegExp]>([
    [
      'an upgrade where the surface is off',
      get('/v1/responses', upgrade),
      404,
      /^There is nothing at an upgraded connection\. /,
    ],
    ['an upgrade of another path', get('/v1/models', upgrade), 404, /^There is nothing at an upgraded connection\. /],
    ['CONNECT', connect, 404, /^There is nothing at an upgraded connection\. /],
    ['a header with an underscore', get('/healthz', 'x_y: 1\r\n'), 400, /underscore/],
    [
      'a slash at the end',
      `POST /v1/chat/completions/ HTTP/1.1\r\nhost: x\r\n${body}`,
      404,
      /^There is nothing at POST \/v1\/chat\/completions\/\. /,
    ],
    [
      'the preflight of a surface',
      `OPTIONS /v1/chat/completions HTTP/1.1\r\nhost: x\r\n\r\n`,
      404,
      /^There is nothing at OPTIONS /,
    ],
  ])('%s gets its own sentence', async (_, request, status, message) => {
    const answer = await sendRaw(envoy.port, request);
    expectEnvelope(answer, status);
    expect((JSON.parse(answer.body) as { readonly error: { readonly message: string } }).error.message).toMatch(
      message,
    );
    expect(seen).toBeUndefined();
  });

  it('an upgrade to a WebSocket is 426 where the responses surface is on, so that clients go on with POST', async () => {
    const withResponses = await startEnvoy({ surfaces: ['chat', 'messages', 'responses'] });
    const at = async (path: string) => sendRaw(withResponses.port, get(path, upgrade));
    for (const path of ['/v1/responses', '/v1/responses?model=a']) {
      const answer = await at(path);
      expectEnvelope(answer, 426);
      expect(answer.body).toContain('send POST /v1/responses');
      // It names the protocol that serves the request, with the option that goes with the field (RFC 9110 §15.5.22, §7.8).
      expect(answer.headers.get('upgrade')).toBe('HTTP/1.1');
      expect(answer.headers.get('connection')?.toLowerCase()).toBe('upgrade');
    }
    for (const path of ['/v1/models', '/v1/responses/x', '/v1/chat/completions']) expectEnvelope(await at(path), 404);
    await withResponses.stop();
  });

  it.each([
    ['a body in chunks', `${post}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`, '/v1/chat/completions 2'],
    [
      'a content type with a charset',
      `${post}content-type: application/json; charset=utf-8\r\n${body}`,
      '/v1/chat/completions 2',
    ],
    ['no content type', post + body, '/v1/chat/completions 2'],
    ['an encoded body', `${post}content-encoding: gzip\r\n${body}`, '/v1/chat/completions 2'],
    [
      'an absolute target',
      `POST http://x/v1/chat/completions HTTP/1.1\r\nhost: x\r\n${body}`,
      '/v1/chat/completions 2',
    ],
    ['an offer of TLS', `${post}connection: upgrade\r\nupgrade: TLS/1.2\r\n${body}`, '/v1/chat/completions 2'],
    ['double slashes', `POST //v1//chat/completions HTTP/1.1\r\nhost: x\r\n${body}`, '/v1/chat/completions 2'],
    ['GET with a body', `GET /v1/models HTTP/1.1\r\nhost: x\r\n${body}`, '/v1/models 2'],
    [
      'an offer of HTTP/2',
      get(
        '/v1/models',
        'connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n',
      ),
      '/v1/models 0',
    ],
  ])('with %s reaches the service', async (_, request, echoed) => {
    expect(await sendRaw(envoy.port, request)).toMatchObject({ status: 200, body: echoed });
  });
});

describe('a request that is not well formed', () => {
  const many = Array.from({ length: 150 }, (_, at) => `x-${at}: 1\r\n`).join('');
  it.each([
    ['no request line', 'BLAH\r\n\r\n'],
    ['TLS on a plain port', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n'],
    ['an unknown method', 'get /healthz HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['an unknown version', 'GET / HTTP/9.9\r\nhost: x\r\n\r\n'],
    ['HTTP/1.0', 'GET /healthz HTTP/1.0\r\n\r\n'],
    ['HTTP/0.9', 'GET /healthz\r\n\r\n'],
    ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n'],
    ['two Hosts', get('/healthz', 'host: y\r\n')],
    ['a Host with a space', 'GET /healthz HTTP/1.1\r\nhost: a b\r\n\r\n'],
    ['a fragment', get('/v1/models#x')],
    ['a header with a space', get('/healthz', 'x y: 1\r\n')],
    ['a zero byte in a header', get('/healthz', 'x: a\0b\r\n')],
    ['headers of 70 kB', get('/healthz', `x: ${'a'.repeat(70_000)}\r\n`)],
    ['an address of 70 kB', get(`/healthz?${'a'.repeat(70_000)}`)],
    ['150 headers', get('/healthz', many)],
    ['a length and chunks', `${post}transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n`],
    ['two lengths', `${post}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`],
    ['a negative length', `${post}content-length: -2\r\n\r\n{}`],
    ['a length with a sign', `${post}content-length: +2\r\n\r\n{}`],
    ['an unknown transfer coding', `${post}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a second transfer coding', `${post}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['a chunk without a size', `${post}transfer-encoding: chunked\r\n\r\nZZ\r\nhello\r\n0\r\n\r\n`],
  ])('(%s) is 400 in the envelope', async (_what, bytes) => {
    expectEnvelope(await sendRaw(envoy.port, bytes), 400);
  });

  it('cannot hide a second one behind its chunks', async () => {
    const hidden = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n';
    const answer = await sendRaw(
      envoy.port,
      `${post}transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n${hidden}`,
    );
    expect(answer.text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    // The head of the request before this one may only now have reached the service.
    expect(seen?.head.path).not.toBe('/healthz');
  });

  it('over HTTP/2 ends its own stream only', async () => {
    const session = connectHttp2(`http://127.0.0.1:${envoy.port}`);
    const status = (headers: Record<string, string>): Promise<number> =>
      new Promise((resolve, reject) => {
        const stream = session.request(headers);
        stream.on('response', (answer) => resolve(Number(answer[':status'])));
        stream.on('error', reject).resume();
      });
    expect(await status({ ':path': '/healthz' })).toBe(200);
    await expect(status({ ':path': '/healthz', x_y: '1' })).rejects.toThrow('NGHTTP2');
    expect(await status({ ':path': '/v1%2fmodels' })).toBe(404);
    expect(await status({ ':path': '/nope' })).toBe(404);
    expect(await status({ ':path': '/healthz' })).toBe(200);
    await new Promise<void>((resolve) => session.close(resolve));
  });
});

describe('what the service is told', () => {
  it('leaves out what only we may say, and has the address of the peer', async () => {
    await sendRaw(
      envoy.port,
      get(
        '/healthz',
        'x-weir-cluster: c\r\nX-Weir-Client-Address: 9.9.9.9\r\nx-envoy-anything: 1\r\nx-envoy-retry-on: 5xx\r\nx-forwarded-for: 8.8.8.8\r\n',
      ),
    );
    expect(seen?.head.header('x-weir-cluster')).toBeUndefined();
    expect(seen?.head.header('x-envoy-anything')).toBeUndefined();
    expect(seen?.head.header('x-envoy-retry-on')).toBeUndefined();
    expect(seen?.head.header('x-weir-client-address')).toBe('127.0.0.1');
    expect(seen?.head.header('x-weir-client-connection')).toMatch(/^127\.0\.0\.1:\d+ HTTP\/1\.1$/);
  });

  it('keeps the address although the connection is told to drop the header', async () => {
    await sendRaw(envoy.port, get('/healthz', 'connection: x-weir-client-address\r\n'));
    expect(seen?.head.header('x-weir-client-address')).toBe('127.0.0.1');
  });

  it('keeps a request id, makes one where there is none, and shows it to the caller', async () => {
    const kept = await sendRaw(envoy.port, get('/healthz', 'x-request-id: mine-42\r\n'));
    expect(kept.headers.get('x-request-id')).toBe('mine-42');
    expect(seen?.head.header('x-request-id')).toBe('mine-42');
    const made = await sendRaw(envoy.port, get('/healthz'));
    expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(seen?.head.header('x-request-id')).toBe(made.headers.get('x-request-id'));
    const refused = await sendRaw(envoy.port, get('/nope', 'x-request-id: mine-43\r\n'));
    expect(refused.headers.get('x-request-id')).toBe('mine-43');
  });

  it('is the whole body, however it is framed, and not the trailers', async () => {
    const answer = await sendRaw(
      envoy.port,
      `${post}transfer-encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n3\r\nyou\r\n0\r\nx-trailer: 1\r\n\r\n`,
    );
    expect(answer.body).toBe('/v1/chat/completions 8');
  });

  it('ends with the trailers of HTTP/2', async () => {
    const session = connectHttp2(`http://127.0.0.1:${envoy.port}`);
    const stream = session.request(
      { ':method': 'POST', ':path': '/v1/messages' },
      { endStream: false, waitForTrailers: true },
    );
    stream.on('error', () => {});
    const body = new Promise<string>((resolve) => {
      let text = '';
      stream.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      stream.on('end', () => resolve(text));
    });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': '1' }));
    stream.write('hello');
    stream.end();
    expect(await body).toBe('/v1/messages 5');
    await new Promise<void>((resolve) => session.close(resolve));
  });

  it('comes after a 100 Continue to a caller that waits for one', async () => {
    const answer = await sendRaw(envoy.port, `${post}expect: 100-continue\r\ncontent-length: 2\r\n\r\n{}`);
    expect(answer.text).toMatch(/^HTTP\/1\.1 100 Continue/);
    expect(answer.status).toBe(200);
  });
});
