import { askedShape } from './answers.ts';

/** The little the mock engine needs to know of a request. */
export interface EngineRequest {
  readonly method: string;
  /** The name of the answer's shape. */
  readonly shape: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

/** Far above the service's own body limit; passing it means the reader has lost its place. */
const maxRequestBytes = 64 * 1024 * 1024;
const headEnd = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');
const streamFlag = /"stream"\s*:\s*true/;
const usageFlag = /"include_usage"\s*:\s*true/;

/**
 * Reads pipelined HTTP/1.1 requests (RFC 9112) out of bytes cut anywhere: a content-length or a chunked body.
 * The body is never parsed as JSON; two flags are looked for. Throws on what is not HTTP.
 *
 * Node's own server is no part for the mock engine: it gathers all that is written in one turn of the loop into one write,
 * and a load of this bench is streams whose chunks leave in a write each.
 */
export function createRequestReader(onRequest: (request: EngineRequest) => void): {
  readonly push: (bytes: Buffer) => void;
} {
  let parts: Buffer[] = [];
  let held = 0;
  /** Bytes that must be there before another look is worth it; saves rescanning a large body for every packet. */
  let needed = 0;

  return {
    push(bytes) {
      parts.push(bytes);
      held += bytes.length;
      if (held > maxRequestBytes) throw new Error('request larger than the mock engine takes');
      if (held < needed) return;
      let rest = parts.length === 1 ? bytes : Buffer.concat(parts, held);
      for (;;) {
        const step = readOne(rest);
        if (step.kind === 'more') {
          needed = step.needed;
          break;
        }
        onRequest(step.request);
        rest = rest.subarray(step.size);
      }
      parts = rest.length === 0 ? [] : [rest];
      held = rest.length;
    },
  };
}

type Step =
  | { readonly kind: 'more'; readonly needed: number }
  | { readonly kind: 'request'; readonly request: EngineRequest; readonly size: number };

function readOne(bytes: Buffer): Step {
  const end = bytes.indexOf(headEnd);
  if (end === -1) return { kind: 'more', needed: bytes.length + 1 };
  const head = bytes.toString('latin1', 0, end);
  const line = /^([A-Z]+) (\S+) HTTP\/1\.1/.exec(head);
  if (!line) throw new Error('not an HTTP/1.1 request');
  const bodyStart = end + headEnd.length;
  const body = /\r\ntransfer-encoding: *chunked/i.test(head)
    ? chunkedBody(bytes, bodyStart)
    : sizedBody(bytes, bodyStart, Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0));
  if (body.kind === 'more') return body;
  return {
    kind: 'request',
    size: body.end,
    request: {
      method: line[1] ?? '',
      shape: askedShape(line[2] ?? '', body.text),
      stream: streamFlag.test(body.text),
      includeUsage: usageFlag.test(body.text),
    },
  };
}

type Body =
  | { readonly kind: 'more'; readonly needed: number }
  | { readonly kind: 'body'; readonly text: string; readonly end: number };

function sizedBody(bytes: Buffer, start: number, size: number): Body {
  const end = start + size;
  return bytes.length < end
    ? { kind: 'more', needed: end }
    : { kind: 'body', text: bytes.toString('latin1', start, end), end };
}

function chunkedBody(bytes: Buffer, start: number): Body {
  let at = start;
  let text = '';
  for (;;) {
    const sizeEnd = bytes.indexOf(lineEnd, at);
    if (sizeEnd === -1) return { kind: 'more', needed: bytes.length + 1 };
    const size = Number.parseInt(bytes.toString('latin1', at, sizeEnd), 16);
    if (Number.isNaN(size)) throw new Error('not a chunk size');
    const data = sizeEnd + lineEnd.length;
    const next = data + size + lineEnd.length;
    if (bytes.length < next) return { kind: 'more', needed: next };
    if (size === 0) return { kind: 'body', text, end: next };
    text += bytes.toString('latin1', data, data + size);
    at = next;
  }
}
