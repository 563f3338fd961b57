import { connect, type Socket } from 'node:net';

/** A caller over HTTP/1.1 that leaves its answer in the kernel, as far as it does not take it. */
export interface SlowReader {
  /** Resolves with the status as soon as the answer has begun. */
  readonly begun: Promise<number>;
  /** Takes a few bytes. */
  readonly takeSome: () => void;
  /** Takes the rest as fast as it comes. Resolves with the last bytes when the connection has ended. */
  readonly readOn: () => Promise<string>;
  readonly leave: () => void;
}

/** What `takeSome` takes. A stream of Node would read 64 KiB ahead. */
const someBytes = 16;
const tailBytes = 64;

/** Sends a request and takes the beginning of its answer. */
export function openSlowReader(
  { origin, key }: { readonly origin: string; readonly key: string },
  request: object,
): SlowReader {
  const begun = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<string>();
  const some = Buffer.alloc(someBytes);
  const much = Buffer.alloc(64 * 1024);
  let readsOn = false;
  let tail = '';
  const take = (length: number, bytes: Uint8Array): boolean => {
    tail = (tail + Buffer.from(bytes.subarray(0, length)).toString('latin1')).slice(-tailBytes);
    begun.resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(tail)?.[1]));
    return readsOn;
  };
  const { hostname, port } = new URL(origin);
  const socket: Socket = connect({
    ...{ host: hostname, port: Number(port) },
    onread: { buffer: () => (readsOn ? much : some), callback: take },
  });
  socket.on('error', (error) => begun.reject(error));
  socket.on('close', () => ended.resolve(tail));
  const body = JSON.stringify(request);
  const head = [
    ...['POST /v1/chat/completions HTTP/1.1', 'host: weir', 'content-type: application/json', 'connection: close'],
    ...[`authorization: Bearer ${key}`, `content-length: ${Buffer.byteLength(body)}`, '', ''],
  ].join('\r\n');
  socket.write(head + body);
  return {
    begun: begun.promise,
    takeSome: () => void socket.resume(),
    readOn: () => {
      readsOn = true;
      socket.resume();
      return ended.promise;
    },
    leave: () => void socket.destroy(),
  };
}
