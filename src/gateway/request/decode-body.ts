import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import type { RequestHead, Upload } from '../../core/exchange.ts';
import { bodyTooLarge, Failure } from '../../core/failure.ts';
import { createBodyCollector } from '../core/body-collector.ts';

const options = { chunkSize: 64 * 1024 };

/** A decoder keeps its last output in a window, which is the largest for brotli (RFC 7932 §9.1). */
const maxWindowBytes = 16 * 1024 * 1024;

interface Decoder extends AsyncIterable<Buffer> {
  readonly end: (body: Uint8Array) => unknown;
}

/** The content codings of a request body, with what decodes them. */
const decoders = {
  gzip: () => createGunzip(options),
  br: () => createBrotliDecompress(options),
  // A window of more than 8 MiB is not for content codings (RFC 9659), and would be memory that no limit counts.
  zstd: () => createZstdDecompress({ ...options, params: { [constants.ZSTD_d_windowLogMax]: 23 } }),
  // The coding has a zlib header (RFC 9110 §8.4.1.2), which some clients leave out.
  deflate: (body) => (hasZlibHeader(body) ? createInflate(options) : createInflateRaw(options)),
} as const satisfies Readonly<Record<string, (body: Uint8Array) => Decoder>>;

type ContentCoding = keyof typeof decoders;

const codings = Object.keys(decoders).join(', ');

const isCoding = (name: string): name is ContentCoding => Object.hasOwn(decoders, name);

/** RFC 1950 §2.2: the method is 8, and the first two bytes are a multiple of 31. */
function hasZlibHeader([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 15) === 8 && (first * 256 + second) % 31 === 0;
}

/** The content coding of a request's body. Undefined: it is not encoded. Throws `unsupported_encoding`. */
export function contentCodingOf(head: Pick<RequestHead, 'header'>): ContentCoding | undefined {
  const names = (head.header('content-encoding') ?? '').split(',').map((name) => name.trim().toLowerCase());
  const [name, ...others] = names.filter((one) => one !== '' && one !== 'identity');
  if (name === undefined) return undefined;
  const coding = name === 'x-gzip' ? 'gzip' : name;
  if (isCoding(coding) && others.length === 0) return coding;
  throw new Failure('unsupported_encoding', `The request body's content-encoding must be one of ${codings}, once.`, {
    headers: [['accept-encoding', codings]],
  });
}

/**
 * Decodes a body. The decoded bytes count against the limit and are charged to the upload piece by piece, before they are kept, so that
 * a small body cannot become a large one unnoticed.
 */
export async function decodeBody(
  body: Uint8Array,
  coding: ContentCoding,
  { limitBytes, upload }: { readonly limitBytes: number; readonly upload: Pick<Upload, 'hold'> },
): Promise<Uint8Array> {
  const collector = createBodyCollector();
  const decoder: Decoder = decoders[coding](body);
  decoder.end(body);
  try {
    for await (const piece of decoder) {
      const bytes = collector.bytes() + piece.length;
      if (bytes > limitBytes) throw bodyTooLarge(limitBytes);
      upload.hold(body.length, body.length + collector.memoryFor(bytes) + Math.min(bytes, maxWindowBytes));
      collector.add(piece, false);
    }
    return collector.take();
  } catch (cause) {
    collector.discard();
    if (cause instanceof Failure) throw cause;
    throw new Failure('invalid_request', `The request body is not ${coding} data, as content-encoding says.`, {
      cause,
    });
  }
}
