import { describe, expect, test } from 'vitest';
import { createRequestReader, type EngineRequest } from './request-reader.ts';

const body = '{"model":"bench/7-burst-1","messages":[],"stream":true,"stream_options":{"include_usage": true}}';
const post = `POST /100-burst-1/v1/chat/completions HTTP/1.1\r\nhost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const get = 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n';
const cut = 41;
const chunked =
  `POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n` +
  `${cut.toString(16)}\r\n${body.slice(0, cut)}\r\n${(body.length - cut).toString(16)};note=1\r\n${body.slice(cut)}\r\n0\r\n\r\n`;

const all: readonly EngineRequest[] = [
  { method: 'POST', shape: '100-burst-1', stream: true, includeUsage: true },
  { method: 'GET', shape: '', stream: false, includeUsage: false },
  { method: 'POST', shape: '7-burst-1', stream: true, includeUsage: true },
];

function read(pieces: readonly string[]): readonly EngineRequest[] {
  const requests: EngineRequest[] = [];
  const reader = createRequestReader((request) => requests.push(request));
  for (const piece of pieces) reader.push(Buffer.from(piece));
  return requests;
}

describe('requests on one connection', () => {
  const wire = `${post}${get}${chunked}`;

  test('are read out of one packet', () => {
    expect(read([wire])).toEqual(all);
  });

  test('are the same when the bytes are cut in two anywhere', () => {
    for (let at = 1; at < wire.length; at += 1)
      expect(read([wire.slice(0, at), wire.slice(at)]), `cut at ${at}`).toEqual(all);
  });

  test('are the same byte by byte', () => {
    expect(read(wire.split(''))).toEqual(all);
  });
});

test('a request that does not ask for a stream is told apart', () => {
  const plain = '{"stream":false}';
  expect(read([`POST /v1 HTTP/1.1\r\ncontent-length: ${plain.length}\r\n\r\n${plain}`])).toEqual([
    { method: 'POST', shape: '', stream: false, includeUsage: false },
  ]);
});

test.each([
  ['bytes that are not HTTP', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'not an HTTP/1.1 request'],
  ['a chunk without a size', 'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n', 'not a chunk size'],
])('%s: refused', (_, wire, message) => {
  expect(() => read([wire])).toThrow(message);
});
