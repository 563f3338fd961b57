import { connect } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const limitBytes = 33_554_432;

const unlimited = { contextLength: 1_000_000_000 };

const engine = await forFile(startProgrammableEngine({ name: 'alpha', behaviour: unlimited }));
const weir = await forFile(startWeir({ unlimited: true, engines: [engine] }));

/** A valid request of exactly so many bytes. */
function bodyOf(bytes: number, model = 'test/model'): string {
  const body = (padding: string): string =>
    JSON.stringify({ model, messages: [{ role: 'user', content: `[[words=3]] ${padding}` }] });
  return body('x'.repeat(bytes - body('').length));
}

const chunked = (text: string): ReadableStream<Uint8Array> => new Blob([text]).stream();

test('a body of 32 MiB passes', async () => {
  const response = await weir.chat(bodyOf(limitBytes));
  expect(response.status).toBe(200);
  expect(await response.json()).toHaveProperty('choices');
});

test('one byte more, declared, is 413 in plain text and never reaches an engine', async () => {
  const before = engine.requests().length;
  const response = await weir.chat(bodyOf(limitBytes + 1));
  expect([response.status, response.headers.get('content-type')]).toEqual([413, 'text/plain']);
  expect(await response.text()).toBe(`Request body is over ${limitBytes} bytes.`);
  expect(engine.requests().length).toBe(before);
});

test('one byte more, not declared, is 413 as soon as it is passed', async () => {
  const response = await weir.fetch(`${weir.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${weir.key}`, 'content-type': 'application/json' },
    body: chunked(bodyOf(limitBytes + 1)),
    duplex: 'half',
  });
  expect(response.status).toBe(413);
  await response.text();
});

const codings = [
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['deflate', deflateSync],
] as const;
const paths = ['/chat/completions', '/messages'];

const sendEncoded = (path: string, coding: string, body: Uint8Array<ArrayBuffer>): Promise<Response> =>
  weir.fetch(weir.baseUrl + path, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${weir.key}`, 'content-type': 'application/json', 'content-encoding': coding },
    },
    body: new Blob([body]).stream(),
    duplex: 'half',
  });

test.each(codings)('a body in %s passes, in pieces, on every surface, and counts decoded', async (coding, encode) => {
  for (const path of paths) {
    const body = JSON.stringify({ ...(JSON.parse(bodyOf(2_000_000)) as object), max_tokens: 50 });
    const response = await sendEncoded(path, coding, new Uint8Array(encode(body)));
    expect([path, response.status]).toEqual([path, 200]);
    await response.text();
  }
  const before = engine.requests().length;
  const bomb = new Uint8Array(encode(bodyOf(limitBytes + 1)));
  expect(bomb.length).toBeLessThan(limitBytes / 100);
  const refused = await sendEncoded('/chat/completions', coding, bomb);
  expect([refused.status, await refused.text()]).toEqual([413, `Request body is over ${limitBytes} bytes.`]);
  expect(engine.requests().length).toBe(before);
});

test('a body in two codings, or in an unknown one, is 415 with the known ones', async () => {
  for (const coding of ['gzip, br', 'compress']) {
    const response = await sendEncoded('/messages', coding, new Uint8Array(gzipSync('{}')));
    expect([response.status, response.headers.get('accept-encoding')]).toEqual([415, 'gzip, br, zstd, deflate']);
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
  }
});

/** Sends text over a connection of its own and gives what comes back until `until` is in it. */
function exchange(parts: readonly string[], until: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(weir.origin).port), '127.0.0.1');
    let seen = '';
    const [first = '', ...rest] = parts;
    const waiting = [...rest];
    socket.once('error', reject);
    socket.on('data', (chunk) => {
      seen += chunk.toString();
      const next = seen.includes('100 Continue') ? waiting.shift() : undefined;
      if (next !== undefined) socket.write(next);
      if (seen.includes(until)) {
        socket.destroy();
        resolve(seen);
      }
    });
    socket.write(first);
  });
}

const head = (bytes: number): string =>
  [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: weir',
    `Authorization: Bearer ${weir.key}`,
    'Content-Type: application/json',
    `Content-Length: ${bytes}`,
    'Expect: 100-continue',
    '',
    '',
  ].join('\r\n');

test('a client that waits for 100 Continue gets it and then its answer', async () => {
  const body = bodyOf(200);
  const seen = await exchange([head(body.length), body], '"choices"');
  expect(seen).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
});

test('a client that waits with too much to send is told so before it sends', async () => {
  expect(await exchange([head(limitBytes + 1)], 'bytes.')).toContain('HTTP/1.1 413 ');
});

test('a stranger’s body is not waited for', async () => {
  const seen = await exchange([head(limitBytes).replace(/Bearer .*/, 'Bearer nobody')], '"error"');
  expect(seen).toContain('HTTP/1.1 401 ');
});
