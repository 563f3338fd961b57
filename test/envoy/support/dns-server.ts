import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface DnsServer {
  readonly port: number;
  /** What every name resolves to from now on. */
  readonly answer: (addresses: readonly string[]) => void;
  readonly close: () => void;
}

const typeA = 1;

/** A name server on the loopback that knows every name, with the same IPv4 addresses and no IPv6 ones (RFC 1035 §4). */
export async function startDnsServer(addresses: readonly string[]): Promise<DnsServer> {
  let current = addresses;
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    // The question follows a head of 12 bytes: the name up to its empty label, then type and class.
    const end = query.indexOf(0, 12) + 5;
    const records = query.readUInt16BE(end - 4) === typeA ? current.map(record) : [];
    const head = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, records.length, 0, 0, 0, 0]);
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    answer: (next) => {
      current = next;
    },
    close: () => socket.close(),
  };
}

/** The question's name again (a pointer to byte 12), type A, class IN, one second to live. */
function record(address: string): Buffer {
  return Buffer.from([0xc0, 12, 0, typeA, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)]);
}
