import { open } from 'node:fs/promises';

/** The kernel's TCP tables of one moment. */
type KernelQueues = ReturnType<typeof kernelQueues>;

/** Reads the TCP tables of the network namespace. */
export type KernelTables = ReturnType<typeof createKernelTables>;

/** Longest part of a table that is read; it has room for some 400,000 connections. */
const maxTableBytes = 64 * 1024 * 1024;

/**
 * Opens the tables of all TCP sockets, which the service shares with Envoy (same machine or same pod). proc_net_tcp(5).
 * Each reading reuses the memory of the reading before: on a busy machine a table has megabytes, and is read several
 * times a second.
 */
export function createKernelTables() {
  const readers = ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => createTableReader(path));
  return {
    /** Reads them now. Resolves to undefined where there are no such tables. One call at a time. */
    look: async (): Promise<KernelQueues | undefined> => {
      const [tcp, tcp6] = await Promise.all(readers.map((read) => read()));
      return tcp === undefined ? undefined : kernelQueues(tcp6 === undefined ? [tcp] : [tcp, tcp6]);
    },
  };
}

function createTableReader(path: string): () => Promise<Buffer | undefined> {
  let memory = Buffer.allocUnsafe(256 * 1024);
  return async () => {
    const file = await open(path).catch(() => undefined);
    if (file === undefined) return undefined;
    try {
      let length = 0;
      for (;;) {
        const { bytesRead } = await file.read(memory, length, memory.length - length);
        length += bytesRead;
        if (bytesRead === 0 || length >= maxTableBytes) return memory.subarray(0, length);
        if (memory.length - length < readAheadBytes) memory = Buffer.concat([memory], memory.length * 2);
      }
    } catch {
      // The kernel could not print the table now. The next sample may succeed.
      return undefined;
    } finally {
      await file.close().catch(() => undefined);
    }
  };
}

/** The kernel prints some rows at a time; less room than this would make it print fewer. */
const readAheadBytes = 64 * 1024;

/** From so many peers on, one pass over the tables is cheaper than a search for each peer. */
const maxSearches = 8;

/**
 * Looks peers up in tables in the kernel's own format. A busy machine has tens of thousands of rows. For a handful of
 * peers the bytes are searched unparsed. For many peers the rows are indexed once: a search for each of 1,000 peers in
 * 2,000 rows held the event loop for 95 ms, the index takes 1 ms.
 */
export function kernelQueues(tables: readonly Buffer[]) {
  let searches = 0;
  let index: ReadonlyMap<string, number> | undefined;
  const find = (remote: string): readonly (number | undefined)[] => {
    searches += 1;
    if (searches <= maxSearches) return tables.map((table) => findQueue(table, remote));
    index ??= indexQueues(tables);
    return [index.get(remote)];
  };
  return {
    /**
     * Bytes the kernel holds for a peer that has not acknowledged them, by the peer's `address:port` as Envoy prints it.
     * Undefined when the peer is not in the tables.
     */
    queueOf: (peer: string): number | undefined =>
      remoteColumns(peer)
        .flatMap(find)
        .reduce((a, b) => (a === undefined ? b : Math.max(a, b ?? 0)), undefined),
  };
}

/** State of a connection that both ends have closed. Its ports are soon used again. */
const timeWait = '06';

/**
 * Columns: `sl local_address rem_address st tx_queue:rx_queue …`, all hexadecimal. On one machine both ends of a
 * connection are in the table. The peer's own row has its address in the local column, where another address follows,
 * and not a state of two digits. One peer may have connections to several ports of ours; the fullest queue counts.
 */
function findQueue(table: Buffer, remote: string): number | undefined {
  const column = ` ${remote} `;
  let fullest: number | undefined;
  for (let at = table.indexOf(column); at !== -1; at = table.indexOf(column, at + 1)) {
    const rest = table.toString('latin1', at + column.length, at + column.length + 12);
    const [, state, queue] = /^([0-9A-F]{2}) ([0-9A-F]{8}):/.exec(rest) ?? [];
    if (queue === undefined || state === timeWait) continue;
    fullest = Math.max(fullest ?? 0, Number.parseInt(queue, 16));
  }
  return fullest;
}

/** The fullest queue of each remote column. The columns are those of `findQueue`. */
function indexQueues(tables: readonly Buffer[]): ReadonlyMap<string, number> {
  const queues = new Map<string, number>();
  for (const table of tables) {
    const text = table.toString('latin1');
    // The first line has the names of the columns.
    for (let line = text.indexOf('\n') + 1; line > 0 && line < text.length; line = text.indexOf('\n', line) + 1) {
      const local = text.indexOf(': ', line) + 2;
      const remote = text.indexOf(' ', local) + 1;
      const state = text.indexOf(' ', remote) + 1;
      if (text.startsWith(timeWait, state)) continue;
      const queue = Number.parseInt(text.slice(state + 3, state + 11), 16);
      const peer = text.slice(remote, state - 1);
      queues.set(peer, Math.max(queues.get(peer) ?? 0, queue));
    }
  }
  return queues;
}

/**
 * The forms in which the kernel may print `address:port`. If a listener accepts both families, an IPv4 peer is in the
 * table of IPv6, as a mapped address.
 */
function remoteColumns(peer: string): readonly string[] {
  const [, bracketed, plain, port = ''] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(peer) ?? [];
  const hexPort = Number(port).toString(16).toUpperCase().padStart(4, '0');
  if (plain !== undefined) {
    const words = littleEndian(plain.split('.').map((byte) => Number(byte)));
    return [`${words}:${hexPort}`, `0000000000000000FFFF0000${words}:${hexPort}`];
  }
  return bracketed === undefined ? [] : [`${littleEndian(ipv6Bytes(bracketed))}:${hexPort}`];
}

/** The kernel prints an address as 32-bit words in the machine's order, which is little-endian wherever Envoy runs. */
function littleEndian(bytes: readonly number[]): string {
  const hex = bytes.map((byte) => byte.toString(16).toUpperCase().padStart(2, '0'));
  return Array.from({ length: hex.length / 4 }, (_, word) =>
    hex
      .slice(word * 4, word * 4 + 4)
      .toReversed()
      .join(''),
  ).join('');
}

/** RFC 4291 §2.2, as Envoy prints it: no zone and no dotted tail. */
function ipv6Bytes(address: string): readonly number[] {
  const [before = '', after] = address.split('::');
  const groupsOf = (text: string): readonly number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const head = groupsOf(before);
  const tail = after === undefined ? [] : groupsOf(after);
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => 0);
  return [...head, ...zeros, ...tail].flatMap((group) => [group >> 8, group & 0xff]);
}
