import { expect, it } from 'vitest';
import { kernelQueues } from './kernel-queues.ts';

const heading =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     \n';

it('finds the queue of each peer by the address Envoy prints', () => {
  const tcp = `${heading}   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F90 0A0200C0:9C40 01 0001E240:00000000 01:00000014 00000000     0        0 2 1 0000000000000000 20 4 30 10 -1
`;
  const tcp6 = `${heading}   0: B80D0120000000000000000001000000:1F90 B80D0120000000000000000002000000:9C41 01 0000000F:00000000 00:00000000 00000000     0        0 3 1 0000000000000000 20 4 30 10 -1
   1: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:9C42 01 00000010:00000000 00:00000000 00000000     0        0 3 1 0000000000000000 20 4 30 10 -1
   2: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:9C43 01 00000011:00000000 00:00000000 00000000     0        0 3 1 0000000000000000 20 4 30 10 -1
`;
  const { queueOf } = kernelQueues([Buffer.from(tcp), Buffer.from(tcp6)]);
  expect({
    v4: queueOf('192.0.2.10:40000'),
    v6: queueOf('[2001:db8::2]:40001'),
    loopback: queueOf('[::1]:40002'),
    mapped: queueOf('127.0.0.1:40003'),
  }).toEqual({ v4: 123_456, v6: 15, loopback: 16, mapped: 17 });
  // A local address, another port, and what is no address.
  for (const absent of ['127.0.0.1:8080', '192.0.2.10:40001', '[::2]:40002', '', 'x'])
    expect(queueOf(absent)).toBeUndefined();
});

it('is not misled by what once went to the same port of the peer', () => {
  const tcp =
    Buffer.from(`${heading}   0: 0100007F:7373 0100007F:9C40 06 00000000:00000000 00:00000000 00000000     0        0 1 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F90 0100007F:9C40 01 0001E240:00000000 01:00000014 00000000     0        0 2 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:1F91 0100007F:9C40 01 00000000:00000000 01:00000014 00000000     0        0 2 1 0000000000000000 20 4 30 10 -1
   3: 0100007F:7373 0100007F:9C41 06 00000000:00000000 00:00000000 00000000     0        0 1 1 0000000000000000 100 0 0 10 0
`);
  expect(kernelQueues([tcp]).queueOf('127.0.0.1:40000')).toBe(123_456);
  expect(kernelQueues([tcp]).queueOf('127.0.0.1:40001')).toBeUndefined();
});

it('finds the same for many peers, where the rows are indexed, as for each alone', () => {
  const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, '0');
  const states = ['01', '08', '06'];
  const rows = Array.from({ length: 300 }, (_, index) => {
    // Some ports twice, as of a connection to each of two listeners.
    const port = hex(20_000 + (index % 200), 4);
    const queue = hex((index * 7919) % 100_000, 8);
    return `${String(index).padStart(4)}: 0100007F:1F90 0100007F:${port} ${states[index % 3]} ${queue}:00000000 00:00000000`.padEnd(
      149,
    );
  });
  const tables = [Buffer.from(heading + rows.map((row) => `${row}\n`).join('')), Buffer.from(heading)];
  const peers = Array.from({ length: 210 }, (_, index) => `127.0.0.1:${20_000 + index}`);
  const many = kernelQueues(tables);
  const found = peers.map((peer) => many.queueOf(peer));
  expect(found).toEqual(peers.map((peer) => kernelQueues(tables).queueOf(peer)));
  expect(found.filter((queue) => queue !== undefined).length).toBeGreaterThan(100);
  expect(found.at(-1)).toBeUndefined();
});
