import { readFile } from 'node:fs/promises';

/**
 * Bytes the kernel holds for a peer that has not acknowledged them, by the peer's `address:port` as Envoy prints it.
 * Linux shows every TCP socket of the network namespace, which the service shares with Envoy (same machine or same pod).
 * Undefined where there is no such table. proc_net_tcp(5).
 */
export async function readKernelQueues(): Promise<ReadonlyMap<string, number> | undefined> {
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFile(path, 'latin1').catch(() => undefined)),
  );
  if (tables[0] === undefined) return undefined;
  return parseKernelQueues(tables.filter((table) => table !== undefined));
}

/**
 * Columns: `sl local_address rem_address st tx_queue:rx_queue …`, all hexadecimal. On one machine both ends of a
 * connection are in the table; the peer's own row has Envoy as its remote end and so another key.
 */
export function parseKernelQueues(tables: readonly string[]): ReadonlyMap<string, number> {
  const queues = new Map<string, number>();
  const row = /^ *\d+: [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]+):([0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):/gm;
  for (const table of tables) {
    for (const [, address = '', port = '', queue = ''] of table.matchAll(row)) {
      queues.set(`${peerAddress(address)}:${Number.parseInt(port, 16)}`, Number.parseInt(queue, 16));
    }
  }
  return queues;
}

/** The kernel prints an address as 32-bit words in the machine's order, which is little-endian wherever Envoy runs. */
function peerAddress(words: string): string {
  const bytes = (words.match(/.{8}/g) ?? []).flatMap((word) =>
    [6, 4, 2, 0].map((at) => Number.parseInt(word.slice(at, at + 2), 16)),
  );
  const mapped = bytes.length === 16 && bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff;
  if (bytes.length === 4 || mapped) return bytes.slice(-4).join('.');
  const groups = Array.from({ length: 8 }, (_, group) =>
    (((bytes[group * 2] ?? 0) << 8) | (bytes[group * 2 + 1] ?? 0)).toString(16),
  );
  return `[${compress(groups)}]`;
}

/** RFC 5952 §4.2: the longest run of zero groups, the first of equals, becomes `::`. */
function compress(groups: readonly string[]): string {
  let best = { start: 0, length: 1 };
  let start = 0;
  for (let at = 0; at <= groups.length; at += 1) {
    if (groups[at] === '0') continue;
    if (at - start > best.length) best = { start, length: at - start };
    start = at + 1;
  }
  if (best.length < 2) return groups.join(':');
  return `${groups.slice(0, best.start).join(':')}::${groups.slice(best.start + best.length).join(':')}`;
}
