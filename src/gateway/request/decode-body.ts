import type { RequestHead, Upload } from '../../core/exchange.ts';
import { bodyTooLarge, Failure } from '../../core/failure.ts';
import { createBodyCollector } from '../core/body-collector.ts';
import { type ContentCoding, contentCodingIn, contentCodings, createDecoder } from '../core/content-coding.ts';

/** A decoder keeps its last output in a window, which is the largest for brotli (RFC 7932 §9.1). */
const maxWindowBytes = 16 * 1024 * 1024;

/** The content coding of a request's body. Undefined: it is not encoded. Throws `unsupported_encoding`. */
export function contentCodingOf(head: Pick<RequestHead, 'header'>): ContentCoding | undefined {
  const coding = contentCodingIn(head.header('content-encoding') ?? '');
  if (coding !== 'unknown') return coding;
  const message = `The request body's content-encoding must be one of ${contentCodings}, once.`;
  throw new Failure('unsupported_encoding', message, { headers: [['accept-encoding', contentCodings]] });
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
  const decoder: AsyncIterable<Buffer> = createDecoder(coding, { first: body, chunkSize: 64 * 1024 }).end(body);
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
