import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

interface DecoderOptions {
  /** The beginning of the body. */
  readonly first: Uint8Array;
  readonly chunkSize?: number;
}

/** The content codings that are read, from callers and from engines, with what decodes them. */
const decoders = {
  gzip: ({ chunkSize }) => createGunzip({ chunkSize }),
  br: ({ chunkSize }) => createBrotliDecompress({ chunkSize }),
  // A window of more than 8 MiB is not for content codings (RFC 9659), and would be memory that no limit counts.
  zstd: ({ chunkSize }) => createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: 23 } }),
  // The coding has a zlib header (RFC 9110 §8.4.1.2), which some programs leave out.
  deflate: ({ chunkSize, first }) => (hasZlibHeader(first) ? createInflate : createInflateRaw)({ chunkSize }),
} as const satisfies Readonly<Record<string, (options: DecoderOptions) => unknown>>;

export type ContentCoding = keyof typeof decoders;

export const contentCodings = Object.keys(decoders).join(', ');

const isCoding = (name: string): name is ContentCoding => Object.hasOwn(decoders, name);

/** RFC 1950 §2.2: the method is 8, and the first two bytes are a multiple of 31. */
function hasZlibHeader([first = 0, second]: Uint8Array): boolean {
  return (first & 15) === 8 && (second === undefined || (first * 256 + second) % 31 === 0);
}

/** The coding that a `content-encoding` names. `unknown`: it is not read, or there are several. Undefined: the body is not encoded. */
export function contentCodingIn(header: string): ContentCoding | 'unknown' | undefined {
  const names = header.split(',').map((name) => name.trim().toLowerCase());
  const [name, ...others] = names.filter((one) => one !== '' && one !== 'identity');
  if (name === undefined) return undefined;
  const coding = name === 'x-gzip' ? 'gzip' : name;
  return isCoding(coding) && others.length === 0 ? coding : 'unknown';
}

export const createDecoder = (coding: ContentCoding, options: DecoderOptions) => decoders[coding](options);
