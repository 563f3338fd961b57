import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** How many connections the portal holds, and how many it refused since it started. */
export interface ConnectionCounts {
  readonly open: number;
  readonly refused: { readonly address: number; readonly total: number };
}

/** A browser opens six connections to an address; many people may share one. */
const mostPerAddress = 500;
const mostInAll = 5_000;

/**
 * Bounds the connections of one address, and of all together. Behind a proxy that is trusted all connections are the proxy's: only the
 * total counts then, and the proxy has to bound its callers. Returns what reads the counts.
 */
export function limitConnections(
  { server }: Pick<FastifyInstance, 'server'>,
  { trustedHops }: { readonly trustedHops: number },
): () => ConnectionCounts {
  const open = new Map<string, number>();
  const refused = { address: 0, total: 0 };
  let all = 0;

  server.maxConnections = mostInAll;
  server.on('drop', () => {
    refused.total += 1;
  });
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const ofAddress = (open.get(address) ?? 0) + 1;
    if (trustedHops === 0 && ofAddress > mostPerAddress) {
      refused.address += 1;
      socket.destroy();
      return;
    }
    open.set(address, ofAddress);
    all += 1;
    socket.once('close', () => {
      all -= 1;
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
  });
  return () => ({ open: all, refused: { ...refused } });
}
