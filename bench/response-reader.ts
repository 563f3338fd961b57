/** What a reader tells of an answer as it goes by. `bytes` is only valid during the call: its buffer is reused. */
export interface ResponseSink {
  readonly onHead: (head: { readonly status: number; readonly closes: boolean }) => void;
  readonly onBody: (bytes: Buffer) => void;
  readonly onEnd: () => void;
}

const headEnd = Buffer.from('\r\n\r\n');
const maxHeadBytes = 64 * 1024;

type State =
  | { readonly at: 'head' }
  | { readonly at: 'sized'; left: number }
  | { readonly at: 'chunk-size'; size: number; started: boolean; extension: boolean }
  | { readonly at: 'chunk-data'; left: number }
  | { readonly at: 'chunk-end'; left: number; readonly last: boolean };

/**
 * Reads HTTP/1.1 answers (RFC 9112) out of bytes cut anywhere, without keeping the body. Throws on what is not HTTP,
 * and on a body without a length: a gateway that frames by closing the connection cannot be told from one that was cut.
 */
export function createResponseReader(sink: ResponseSink): { readonly push: (bytes: Buffer) => void } {
  let state: State = { at: 'head' };
  let heldHead: Buffer | undefined;

  const readHead = (bytes: Buffer, from: number): number => {
    const fresh = from === 0 ? bytes : bytes.subarray(from);
    const held = heldHead?.length ?? 0;
    const all = heldHead === undefined ? fresh : Buffer.concat([heldHead, fresh]);
    const end = all.indexOf(headEnd);
    if (end === -1) {
      if (all.length > maxHeadBytes) throw new Error('answer head too large');
      // A copy, because the caller's buffer is reused.
      heldHead = Buffer.from(all);
      return bytes.length;
    }
    heldHead = undefined;
    const head = all.toString('latin1', 0, end);
    if (!head.startsWith('HTTP/1.1 ')) throw new Error('not an HTTP/1.1 answer');
    sink.onHead({ status: Number(head.slice(9, 12)), closes: /\r\nconnection: *close/i.test(head) });
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (length) {
      const left = Number(length[1]);
      if (left === 0) sink.onEnd();
      else state = { at: 'sized', left };
    } else if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
      state = { at: 'chunk-size', size: 0, started: false, extension: false };
    } else {
      throw new Error('answer without a length');
    }
    return from + end + headEnd.length - held;
  };

  const step = (bytes: Buffer, from: number): number => {
    switch (state.at) {
      case 'head':
        return readHead(bytes, from);
      case 'sized': {
        const take = Math.min(state.left, bytes.length - from);
        sink.onBody(bytes.subarray(from, from + take));
        state.left -= take;
        if (state.left === 0) {
          state = { at: 'head' };
          sink.onEnd();
        }
        return from + take;
      }
      case 'chunk-size': {
        const byte = bytes[from] ?? 0;
        if (byte === 10) {
          if (!state.started) throw new Error('not a chunk size');
          state = state.size === 0 ? { at: 'chunk-end', left: 2, last: true } : { at: 'chunk-data', left: state.size };
          return from + 1;
        }
        const digit = hexDigit(byte);
        if (digit === undefined) state.extension = true;
        else if (!state.extension) {
          state.size = state.size * 16 + digit;
          state.started = true;
        }
        return from + 1;
      }
      case 'chunk-data': {
        const take = Math.min(state.left, bytes.length - from);
        sink.onBody(bytes.subarray(from, from + take));
        state.left -= take;
        if (state.left === 0) state = { at: 'chunk-end', left: 2, last: false };
        return from + take;
      }
      case 'chunk-end': {
        const take = Math.min(state.left, bytes.length - from);
        state.left -= take;
        if (state.left > 0) return from + take;
        const { last } = state;
        state = last ? { at: 'head' } : { at: 'chunk-size', size: 0, started: false, extension: false };
        if (last) sink.onEnd();
        return from + take;
      }
    }
  };

  return {
    push(bytes) {
      for (let from = 0; from < bytes.length;) from = step(bytes, from);
    },
  };
}

function hexDigit(byte: number): number | undefined {
  if (byte >= 48 && byte <= 57) return byte - 48;
  if (byte >= 97 && byte <= 102) return byte - 87;
  if (byte >= 65 && byte <= 70) return byte - 55;
  return undefined;
}
