/** gRPC puts five bytes before each message: whether it is compressed, and its length. */
export const messageHeadBytes = 5;

/** Envoy sends a body in pieces of at most 48 KiB, and headers of at most 32 KiB. */
const largestMessageBytes = 4 * 1024 * 1024;

/**
 * Cuts a stream's data into gRPC messages, however it was cut into frames, and hands out each as it is whole.
 * `push` throws on a compressed message, which nobody asked for, and on one over 4 MiB.
 * https://github.com/grpc/grpc/blob/v1.66.0/doc/PROTOCOL-HTTP2.md
 */
export function createMessageReader(onMessage: (message: Buffer) => void): { readonly push: (data: Buffer) => void } {
  let pieces: Buffer[] = [];
  let held = 0;
  /** Bytes without which nothing can be handed out: joining before they are there would take the square of their number. */
  let needed = messageHeadBytes;

  return {
    push: (data) => {
      held += data.length;
      if (held < needed) {
        pieces.push(data);
        return;
      }
      const input = pieces.length === 0 ? data : Buffer.concat([...pieces, data]);
      let at = 0;
      needed = messageHeadBytes;
      while (input.length - at >= messageHeadBytes) {
        if (input[at] !== 0) throw new Error('a compressed gRPC message');
        const length = input.readUInt32BE(at + 1);
        if (length > largestMessageBytes) throw new Error('a gRPC message over the limit');
        const end = at + messageHeadBytes + length;
        if (end > input.length) {
          needed = end - at;
          break;
        }
        onMessage(input.subarray(at + messageHeadBytes, end));
        at = end;
      }
      held = input.length - at;
      pieces = held === 0 ? [] : [input.subarray(at)];
    },
  };
}
