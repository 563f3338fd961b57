import { once } from 'node:events';
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Lowercase names; the last of equal ones. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** All bytes, interim answers included. */
  readonly text: string;
}

/**
 * Sends bytes as they are over a connection of its own and reads until the answer is complete (by its content-length or
 * its last chunk) or the connection ends. A client library would refuse to send what these tests send.
 */
export async function sendRaw(port: number, bytes: string): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  const complete = Promise.withResolvers<void>();
  socket.on('data', (piece: Buffer) => {
    text += piece.toString('latin1');
    if (isComplete(text, bytes.startsWith('HEAD '))) complete.resolve();
  });
  socket.on('close', () => complete.resolve());
  socket.on('error', () => complete.resolve());
  socket.write(bytes, 'latin1');
  await complete.promise;
  if (!socket.destroyed) {
    const closed = once(socket, 'close');
    socket.destroy();
    await closed;
  }
  return parse(text);
}

function split(text: string): { readonly head: string; readonly body: string } {
  const final = text.replace(/^HTTP\/1\.1 1\d\d [^\r]*\r\n(?:[^\r]+\r\n)*\r\n/, '');
  const end = final.indexOf('\r\n\r\n');
  return end === -1 ? { head: final, body: '' } : { head: final.slice(0, end), body: final.slice(end + 4) };
}

function isComplete(text: string, headOnly: boolean): boolean {
  const { head, body } = split(text);
  if (headOnly) return text.includes('\r\n\r\n');
  const length = /\ncontent-length: (\d+)/i.exec(head)?.[1];
  return length === undefined ? body.endsWith('0\r\n\r\n') : body.length >= Number(length);
}

function parse(text: string): RawAnswer {
  const { head, body } = split(text);
  const [first = '', ...lines] = head.split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { status: Number(first.split(' ')[1] ?? 0), headers, body, text };
}
