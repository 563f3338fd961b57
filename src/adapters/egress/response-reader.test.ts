import { describe, expect, it } from 'vitest';
import { createResponseReader } from './response-reader.ts';

/** What is read of the bytes in these pieces: `… reusable`, `… open`, `… until close`, and what is left over. */
function read(pieces: readonly string[]): readonly string[] {
  const log: string[] = [];
  let body = '';
  const reader = createResponseReader({
    head: ({ status, headers }) => log.push(`${status} ${JSON.stringify(Object.fromEntries(headers))}`),
    data: (bytes) => {
      body += bytes.toString('latin1');
    },
  });
  let left = '';
  try {
    for (const piece of pieces) {
      const bytes = Buffer.from(piece, 'latin1');
      left += bytes.subarray(reader.push(bytes, () => false)).toString('latin1');
    }
  } catch (error) {
    return [...log, `fault: ${error instanceof Error ? error.message : ''}`];
  }
  const end = reader.isDone() ? (reader.isReusable() ? 'reusable' : 'done') : 'open';
  const state = reader.endsWithConnection() ? 'until close' : end;
  return [...log, `${body} ${state}`, ...(left === '' ? [] : [`left ${left}`])];
}

const ok = 'HTTP/1.1 200 OK\r\n';
const answers: readonly (readonly [what: string, bytes: string, read: readonly string[]])[] = [
  ['of a length', `${ok}Content-Length: 3\r\n\r\nabc`, ['200 {"content-length":"3"}', 'abc reusable']],
  ['of no length', `${ok}content-length: 0\r\n\r\n`, ['200 {"content-length":"0"}', ' reusable']],
  ['that is cut', `${ok}content-length: 4\r\n\r\nabc`, ['200 {"content-length":"4"}', 'abc open']],
  [
    'in chunks, with extensions and trailers',
    `${ok}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\nA;x="1"\r\n0123456789\r\n0\r\nx-a: b\r\n\r\n`,
    ['200 {"transfer-encoding":"chunked"}', 'abc0123456789 reusable'],
  ],
  ['until the connection ends', `${ok}x-a: b\r\n\r\nabc\r\n`, ['200 {"x-a":"b"}', 'abc\r\n until close']],
  [
    'that closes',
    `${ok}connection: Close\r\ncontent-length: 1\r\n\r\na`,
    ['200 {"connection":"Close","content-length":"1"}', 'a done'],
  ],
  ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na', ['200 {"content-length":"1"}', 'a done']],
  [
    'after others that are not it',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nlink: x\r\n\r\n${ok}content-length: 1\r\n\r\na`,
    ['200 {"content-length":"1"}', 'a reusable'],
  ],
  ['without a body by its status', 'HTTP/1.1 204 No Content\r\n\r\n', ['204 {}', ' reusable']],
  ['without a reason', 'HTTP/1.1 503\r\ncontent-length: 0\r\n\r\n', ['503 {"content-length":"0"}', ' reusable']],
  [
    'with a header twice, of which the first counts',
    `${ok}x-a:  1 \r\nx-a: 2\r\ncontent-length: 0\r\n\r\n`,
    ['200 {"x-a":"1","content-length":"0"}', ' reusable'],
  ],
  [
    'with a length that is repeated',
    `${ok}content-length: 1\r\ncontent-length: 1\r\n\r\na`,
    ['200 {"content-length":"1"}', 'a reusable'],
  ],
];

describe('an answer', () => {
  it.each(answers)('%s is read', (_, bytes, expected) => {
    expect(read([bytes])).toEqual(expected);
  });

  it.each(answers)('%s is read the same however it is cut', (_, bytes, expected) => {
    for (let at = 1; at < bytes.length; at += 1) expect(read([bytes.slice(0, at), bytes.slice(at)])).toEqual(expected);
    expect(read(bytes.split(''))).toEqual(expected);
  });

  it('leaves alone what comes after its end', () => {
    expect(read([`${ok}content-length: 1\r\n\r\naHTTP/1.1 200 OK`])).toEqual([
      '200 {"content-length":"1"}',
      'a reusable',
      'left HTTP/1.1 200 OK',
    ]);
  });

  it('is held back after its head and between its pieces', () => {
    let held = true;
    let body = '';
    const reader = createResponseReader({
      head: () => undefined,
      data: (bytes) => {
        body += bytes.toString();
        held = true;
      },
    });
    const bytes = Buffer.from(`${ok}transfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n`);
    const bodies: string[] = [];
    let at = 0;
    for (let turn = 0; turn < 4; turn += 1) {
      at += reader.push(bytes.subarray(at), () => held);
      bodies.push(body);
      held = false;
    }
    expect({ bodies, done: reader.isDone() }).toEqual({ bodies: ['', 'a', 'ab', 'ab'], done: true });
  });
});

describe('what is out of order is a fault', () => {
  const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;
  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['no status', 'HTTP/1.1 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000\r\n\r\n'],
    ['a switch of protocols', 'HTTP/1.1 101 Switching\r\n\r\n'],
    ['a header without a colon', `${ok}x-a\r\n\r\n`],
    ['a header without a name', `${ok}: a\r\n\r\n`],
    ['a name with a space', `${ok}x-a : b\r\n\r\n`],
    ['a folded header', `${ok}x-a: b\r\n c\r\n\r\n`],
    ['a length that is no number', `${ok}content-length: +1\r\n\r\n`],
    ['two lengths', `${ok}content-length: 1\r\ncontent-length: 2\r\n\r\n`],
    ['a length and chunks', `${ok}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['another coding', `${ok}transfer-encoding: gzip, chunked\r\n\r\n`],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['a chunk without a size', `${chunked}\r\n`],
    ['a chunk of a negative size', `${chunked}-1\r\n`],
    ['a chunk of an immense size', `${chunked}fffffffff\r\n`],
    ['a chunk longer than its size', `${chunked}1\r\nab\r\n`],
    ['a line that ends in a line feed alone', `${chunked}1\na`],
    ['an endless head', `${ok}x-a: ${'b'.repeat(200_000)}`],
    ['an endless line', `${chunked}1;${'b'.repeat(20_000)}`],
    ['endless trailers', `${chunked}0\r\n${'x-a: b\r\n'.repeat(10_000)}`],
  ])('%s', (_what, bytes) => {
    expect(read([bytes]).at(-1)).toMatch(/^fault: /);
    // Piece by piece it is found as well, at its end at the latest.
    const size = Math.max(7, Math.floor(bytes.length / 200));
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.slice(at * size, (at + 1) * size),
    );
    expect(read(pieces).at(-1)).toMatch(/^fault: /);
  });
});
