import { connect } from 'node:net';

/** What came over one connection, byte for byte, and how it ended. */
export interface RawExchange {
  readonly status: number;
  readonly headers: string;
  /** The body as it was sent, chunk framing taken off; all that came of it when it was cut. */
  readonly body: Buffer;
  /** True when the body's end was seen: the last chunk, or all of its declared length. */
  readonly whole: boolean;
  readonly ending: 'fin' | 'reset';
  /** Sizes of the HTTP chunks, the last one's zero left out. */
  readonly chunkSizes: readonly number[];
}

/** Posts JSON on a connection of its own and reads until the engine closes it. For tests of what fetch would hide. */
export async function rawExchange(url: string, body: unknown): Promise<RawExchange> {
  const { hostname, port } = new URL(url);
  const json = JSON.stringify(body);
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let ending: RawExchange['ending'] = 'fin';
    const socket = connect(Number(port), hostname, () => {
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
          `content-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`,
      );
    });
    socket.on('data', (part: Buffer) => parts.push(part));
    socket.on('error', () => {
      ending = 'reset';
    });
    socket.on('close', () => resolve({ ...readResponse(Buffer.concat(parts)), ending }));
  });
}

function readResponse(bytes: Buffer): Omit<RawExchange, 'ending'> {
  const split = bytes.indexOf('\r\n\r\n');
  if (split < 0) return { status: 0, headers: '', body: Buffer.alloc(0), whole: false, chunkSizes: [] };
  const headers = bytes.subarray(0, split).toString();
  const status = Number(headers.split(' ')[1]);
  const rest = bytes.subarray(split + 4);
  const declared = /^content-length: (\d+)$/imu.exec(headers)?.[1];
  if (declared !== undefined) {
    return { status, headers, body: rest, whole: rest.length === Number(declared), chunkSizes: [] };
  }
  return { status, headers, ...readChunks(rest) };
}

function readChunks(bytes: Buffer): Pick<RawExchange, 'body' | 'whole' | 'chunkSizes'> {
  const parts: Buffer[] = [];
  const chunkSizes: number[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) break;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (size === 0) return { body: Buffer.concat(parts), whole: true, chunkSizes };
    chunkSizes.push(size);
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return { body: Buffer.concat(parts), whole: false, chunkSizes };
}
