import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../core/failure.ts';
import { contentCodingOf, decodeBody } from './decode-body.ts';

const text = `{"model":"demo/tiny","messages":[${'"Grüße, weir. "'.repeat(1)}]}`;
const encoded: readonly (readonly [string, Uint8Array])[] = [
  ['gzip', gzipSync(text)],
  ['x-gzip', gzipSync(text)],
  ['GZip', gzipSync(text)],
  ['identity, gzip', gzipSync(text)],
  ['gzip', Buffer.concat([gzipSync(text.slice(0, 9)), gzipSync(text.slice(9))])],
  ['br', brotliCompressSync(text)],
  ['deflate', deflateSync(text)],
  ['deflate', deflateRawSync(text)],
  ['zstd', zstdCompressSync(text)],
];

const head = (value: string | undefined) => ({
  header: (name: string) => (name === 'content-encoding' ? value : undefined),
});

function codingOf(value: string) {
  const coding = contentCodingOf(head(value));
  if (coding === undefined) throw new Error('it is not encoded');
  return coding;
}

/** Decodes with these limits. `held` is the most memory that was charged. */
async function decode(body: Uint8Array, value: string, { limitBytes = 1_000_000, maxHeld = Infinity } = {}) {
  let held = 0;
  const upload = {
    hold: (_: number, memory: number) => {
      held = memory;
      if (memory > maxHeld) throw new Failure('overloaded', 'no room');
    },
  };
  const decoded = await decodeBody(body, codingOf(value), { limitBytes, upload }).catch((error: unknown) => error);
  return { decoded: decoded instanceof Uint8Array ? Buffer.from(decoded).toString() : decoded, held };
}

describe('an encoded body', () => {
  it.each(encoded)('in %s is read', async (value, body) => {
    expect(await decode(body, value)).toMatchObject({ decoded: text });
  });

  it.each([undefined, '', 'identity', 'identity, Identity', ' '])('with %j is not encoded', (value) => {
    expect(contentCodingOf(head(value))).toBeUndefined();
  });

  it.each(['gzip, br', 'gzip,gzip', 'compress', 'aws-chunked', 'utf-8', 'constructor', 'gzip;q=1'])(
    'in %s is 415',
    (value) => {
      const refusal = expect.objectContaining({
        code: 'unsupported_encoding',
        message: "The request body's content-encoding must be one of gzip, br, zstd, deflate, once.",
        headers: [['accept-encoding', 'gzip, br, zstd, deflate']],
      }) as unknown;
      expect(() => contentCodingOf(head(value))).toThrow(refusal);
    },
  );

  const damaged = encoded.flatMap(([value, body]) => [
    [value, 'cut', body.subarray(0, body.length - 5)] as const,
    [value, 'not encoded', Buffer.from(text)] as const,
    [value, 'empty', Buffer.alloc(0)] as const,
  ]);
  it.each(damaged)('in %s that is %s is 400', async (value, _, body) => {
    expect(await decode(body, value)).toMatchObject({
      decoded: {
        code: 'invalid_request',
        message: expect.stringMatching(/^The request body is not \w+ data/) as string,
      },
    });
  });
});

describe('a small body that becomes a large one', () => {
  const megabytes = 16;
  const zeros = Buffer.alloc(megabytes * 1024 * 1024);
  const bombs: readonly (readonly [string, Uint8Array])[] = [
    ['gzip', gzipSync(zeros)],
    ['br', brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    ['deflate', deflateSync(zeros)],
    ['zstd', zstdCompressSync(zeros)],
  ];

  it.each(bombs)('in %s is 413 when it has passed the limit, before it is held', async (value, bomb) => {
    expect(bomb.length).toBeLessThan(100_000);
    const { decoded, held } = await decode(bomb, value);
    expect(decoded).toMatchObject({ code: 'body_too_large', message: 'Request body is over 1000000 bytes.' });
    expect(held).toBeLessThan(2_500_000);
  });

  it.each(bombs)('in %s is refused by the limits of uploads', async (value, bomb) => {
    const { decoded, held } = await decode(bomb, value, { limitBytes: Infinity, maxHeld: 500_000 });
    expect(decoded).toMatchObject({ code: 'overloaded' });
    expect(held).toBeLessThan(2_000_000);
  });

  it.each(bombs)('in %s would be held whole without limits', async (value, bomb) => {
    const { held } = await decode(bomb, value, { limitBytes: Infinity });
    expect(held).toBeGreaterThanOrEqual(zeros.length);
  });
});

it('a window that needs more memory than a content coding may is refused', async () => {
  const wide = zstdCompressSync(Buffer.alloc(32 * 1024 * 1024, 'ab'), { params: { [constants.ZSTD_c_windowLog]: 27 } });
  expect(await decode(wide, 'zstd', { limitBytes: Infinity })).toMatchObject({ decoded: { code: 'invalid_request' } });
});
