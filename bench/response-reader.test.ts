import { describe, expect, test } from 'vitest';
import { createResponseReader } from './response-reader.ts';

const sized = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';
const empty = 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';
const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;x=a\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n';

const all = ['200 keeps', 'hello', 'end', '503 closes', '', 'end', '200 keeps', 'abc0123456789', 'end'];

function read(pieces: readonly string[]): readonly string[] {
  const seen: string[] = [];
  let body = '';
  const reader = createResponseReader({
    onHead: ({ status, closes }) => seen.push(`${status} ${closes ? 'closes' : 'keeps'}`),
    onBody: (bytes) => {
      body += bytes.toString();
    },
    onEnd: () => {
      seen.push(body, 'end');
      body = '';
    },
  });
  // One buffer for all reads, as on a socket: what the reader must keep it has to copy.
  const buffer = Buffer.alloc(1024);
  for (const piece of pieces) reader.push(buffer.subarray(0, buffer.write(piece)));
  return seen;
}

describe('answers on one connection', () => {
  const wire = `${sized}${empty}${chunked}`;

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

test('an answer that stops short has no end', () => {
  expect(read([chunked.slice(0, -1)])).not.toContain('end');
  expect(read([sized.slice(0, -1)])).not.toContain('end');
});

test.each([
  ['bytes that are not HTTP', 'SSH-2.0-x\r\n\r\n', 'not an HTTP/1.1 answer'],
  ['an answer framed by the end of the connection', 'HTTP/1.1 200 OK\r\n\r\nhello', 'without a length'],
  ['a chunk without a size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\r\n', 'not a chunk size'],
])('%s: refused', (_, wire, message) => {
  expect(() => read([wire])).toThrow(message);
});
