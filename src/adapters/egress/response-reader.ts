/** An answer's head: its status, and its headers by lowercase name, the first of each. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
}

export interface ResponseSink {
  /** The head of the answer proper: interim answers (1xx) are passed over. */
  readonly head: (head: ResponseHead) => void;
  /** A piece of the body: a view of the bytes that were pushed. */
  readonly data: (bytes: Buffer) => void;
}

/**
 * Reads one HTTP/1.1 answer to a POST (RFC 9112), however its bytes arrive. Strict: it is Envoy that wrote them, so what
 * is out of order is a fault and never guessed at.
 */
export interface ResponseReader {
  /**
   * Reads until the bytes are used up, the answer ends or `hold` says so, and gives how many were read. Throws on what
   * is not HTTP/1.1; an error's message never holds what was read.
   */
  readonly push: (bytes: Buffer, hold: () => boolean) => number;
  readonly isDone: () => boolean;
  /** The connection has ended: whether that is the proper end of this answer. */
  readonly endsWithConnection: () => boolean;
  /** Whether another answer may follow on the connection. */
  readonly isReusable: () => boolean;
}

/** Envoy refuses an engine's head over 60 KiB, and counts otherwise than we do. */
const largestHeadBytes = 128 * 1024;
/** A chunk's size with its extension, or one trailer. */
const longestLineBytes = 16 * 1024;
const largestTrailersBytes = 64 * 1024;

type State =
  | { readonly kind: 'head' }
  | { readonly kind: 'length'; left: number }
  | { readonly kind: 'chunk-size' }
  | { readonly kind: 'chunk'; left: number }
  | { readonly kind: 'chunk-end' }
  | { readonly kind: 'trailers'; bytes: number }
  | { readonly kind: 'until-close' }
  | { readonly kind: 'done' };

const endOfHead = Buffer.from('\r\n\r\n');
const lineFeed = 0x0a;

export function createResponseReader(sink: ResponseSink): ResponseReader {
  let state: State = { kind: 'head' };
  /** What was read of a head or a line whose end has not come. */
  let rest = Buffer.alloc(0);
  let reusable = false;

  function body(bytes: Buffer, at: number, left: number): Buffer {
    return bytes.subarray(at, Math.min(bytes.length, at + left));
  }

  /** Takes bytes up to the end of a line, and gives the line once it is whole. */
  function line(bytes: Buffer, at: number): { readonly next: number; readonly text: string | undefined } {
    const end = bytes.indexOf(lineFeed, at);
    const next = end === -1 ? bytes.length : end + 1;
    const whole = rest.length === 0 ? bytes.subarray(at, next) : Buffer.concat([rest, bytes.subarray(at, next)]);
    if (whole.length > longestLineBytes) throw new Error('a line over the limit');
    if (end === -1) {
      rest = Buffer.from(whole);
      return { next, text: undefined };
    }
    rest = Buffer.alloc(0);
    if (whole[whole.length - 2] !== 0x0d) throw new Error('a line that ends in a line feed alone');
    return { next, text: whole.toString('latin1', 0, whole.length - 2) };
  }

  function readHead(bytes: Buffer, at: number): number {
    const known = rest.length;
    const input = known === 0 ? bytes.subarray(at) : Buffer.concat([rest, bytes.subarray(at)]);
    const end = input.indexOf(endOfHead, Math.max(0, known - endOfHead.length + 1));
    if (Math.max(end, input.length - endOfHead.length) > largestHeadBytes) throw new Error('a head over the limit');
    // Something other than HTTP would be waited for until the limit.
    if (!'HTTP/1.'.startsWith(input.toString('latin1', 0, 7))) throw new Error('not HTTP/1.1');
    if (end === -1) {
      rest = Buffer.from(input);
      return bytes.length;
    }
    rest = Buffer.alloc(0);
    const head = parseHead(input.toString('latin1', 0, end));
    const next = at + end + endOfHead.length - known;
    if (head.status >= 200) begin(head);
    else if (head.status === 101) throw new Error('a switch of protocols');
    return next;
  }

  function begin(head: ResponseHead & { readonly version: string }): void {
    const { status, headers, version } = head;
    const coding = headers.get('transfer-encoding');
    const length = headers.get('content-length');
    const connection = headers.get('connection')?.toLowerCase() ?? '';
    if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || length !== undefined || version !== '1')) {
      throw new Error('a body without a clear end');
    }
    if (length !== undefined && !/^\d{1,15}$/.test(length)) throw new Error('a length that is no number');
    const isEmpty = status === 204 || status === 304;
    if (isEmpty) state = { kind: 'length', left: 0 };
    else if (coding !== undefined) state = { kind: 'chunk-size' };
    else state = length === undefined ? { kind: 'until-close' } : { kind: 'length', left: Number(length) };
    reusable = version === '1' && state.kind !== 'until-close' && !/(^|,)\s*close\s*(,|$)/.test(connection);
    sink.head(head);
    if (state.kind === 'length' && state.left === 0) state = { kind: 'done' };
  }

  function readChunkSize(bytes: Buffer, at: number): number {
    const { next, text } = line(bytes, at);
    if (text === undefined) return next;
    const size = /^([0-9a-f]{1,8})[ \t]*(?:;.*)?$/i.exec(text)?.[1];
    if (size === undefined) throw new Error('a chunk without a size');
    const left = Number.parseInt(size, 16);
    state = left === 0 ? { kind: 'trailers', bytes: 0 } : { kind: 'chunk', left };
    return next;
  }

  /** Takes one step, and gives where it stopped. */
  function step(bytes: Buffer, at: number): number {
    switch (state.kind) {
      case 'head':
        return readHead(bytes, at);
      case 'length': {
        const piece = body(bytes, at, state.left);
        state.left -= piece.length;
        if (state.left === 0) state = { kind: 'done' };
        sink.data(piece);
        return at + piece.length;
      }
      case 'chunk-size':
        return readChunkSize(bytes, at);
      case 'chunk': {
        const piece = body(bytes, at, state.left);
        state.left -= piece.length;
        if (state.left === 0) state = { kind: 'chunk-end' };
        sink.data(piece);
        return at + piece.length;
      }
      case 'chunk-end': {
        const { next, text } = line(bytes, at);
        if (text !== undefined && text !== '') throw new Error('a chunk longer than its size');
        if (text === '') state = { kind: 'chunk-size' };
        return next;
      }
      case 'trailers': {
        const { next, text } = line(bytes, at);
        state.bytes += next - at;
        if (state.bytes > largestTrailersBytes) throw new Error('trailers over the limit');
        if (text === '') state = { kind: 'done' };
        return next;
      }
      case 'until-close':
        sink.data(bytes.subarray(at));
        return bytes.length;
      case 'done':
        return at;
    }
  }

  return {
    push: (bytes, hold) => {
      let at = 0;
      while (at < bytes.length && state.kind !== 'done' && (state.kind === 'head' || !hold())) at = step(bytes, at);
      return at;
    },
    isDone: () => state.kind === 'done',
    endsWithConnection: () => state.kind === 'until-close',
    isReusable: () => reusable && state.kind === 'done',
  };
}

function parseHead(text: string): ResponseHead & { readonly version: string } {
  const [first = '', ...lines] = text.split('\r\n');
  const [, version = '', status = ''] = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/.exec(first) ?? [];
  if (version === '') throw new Error('not HTTP/1.1');
  const headers = new Map<string, string>();
  for (const each of lines) {
    const colon = each.indexOf(':');
    const name = each.slice(0, Math.max(0, colon)).toLowerCase();
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) throw new Error('a header without a name');
    const value = each.slice(colon + 1).trim();
    const before = headers.get(name);
    // Two lengths, or two codings, are how one answer is read as two.
    const isFraming = name === 'content-length' || name === 'transfer-encoding';
    if (before === undefined) headers.set(name, value);
    else if (isFraming && before !== value) throw new Error('two headers that contradict each other');
  }
  return { status: Number(status), headers, version };
}
