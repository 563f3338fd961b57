import type { FastifyInstance } from 'fastify';
import { networkOf } from '../core/address.ts';
import { boundHttpConnections, type ConnectionCounts, type PortBounds } from '../core/port-bounds.ts';
import { addTo } from '../core/sums.ts';
import type { PortalLog } from './portal.ts';
import { refusal } from '../books/core/operator-refusals.ts';

/**
 * Limits the connections of one address and of all together. Behind a trusted proxy, all connections come from the
 * proxy. Then it limits the requests under way of each address that a proxy names, and counts those that were refused as refused
 * connections of their address. Call it before adding routes. Returns a function that reads the counts.
 */
export function limitConnections(
  app: Pick<FastifyInstance, 'server' | 'addHook'>,
  { trustedHops, bounds, log }: { readonly trustedHops: number; readonly bounds: PortBounds; readonly log: PortalLog },
): () => ConnectionCounts {
  const { maxConnections, maxPerAddress } = bounds;
  const counts = boundHttpConnections(app.server, {
    ...bounds,
    maxPerAddress: trustedHops === 0 ? maxPerAddress : maxConnections,
  });
  let refusedRequests = 0;
  if (trustedHops === 0) noticeProxies(app, log);
  else {
    limitRequests(app, {
      maxPerAddress,
      onRefused: () => {
        refusedRequests += 1;
      },
    });
  }
  return () => {
    const { open, refused } = counts();
    return { open, refused: { ...refused, address: refused.address + refusedRequests } };
  };
}

/** Without this limit, one caller behind a proxy could hold all connections with bodies that never end. */
function limitRequests(
  app: Pick<FastifyInstance, 'addHook'>,
  { maxPerAddress, onRefused }: { readonly maxPerAddress: number; readonly onRefused: () => void },
): void {
  const underWay = new Map<string, number>();
  app.addHook('onRequest', async ({ ip, socket }, reply) => {
    // Whoever reaches the port without the proxy can name any address, so it counts for this peer alone.
    const address = `${socket.remoteAddress} ${networkOf(ip)}`;
    const ofAddress = (underWay.get(address) ?? 0) + 1;
    if (ofAddress > maxPerAddress) {
      onRefused();
      // Closes without waiting for the rest of the body.
      reply.header('connection', 'close');
      throw refusal('address_busy', {}, { retryAfterSeconds: 1 });
    }
    addTo(underWay, address, 1);
    reply.raw.once('close', () => addTo(underWay, address, -1));
  });
}

/** Logs once that a request came through a proxy although the setting says that there is none. */
function noticeProxies(app: Pick<FastifyInstance, 'addHook'>, log: PortalLog): void {
  let isNoticed = false;
  app.addHook('onRequest', async ({ headers }) => {
    if (isNoticed || (headers['x-forwarded-for'] ?? headers['x-forwarded-proto']) === undefined) return;
    isNoticed = true;
    log.warn(
      { setting: 'WEIR_ADMIN_TRUSTED_HOPS' },
      'a request came through a proxy, and WEIR_ADMIN_TRUSTED_HOPS is 0: all callers of the proxy count as one address, and cookies are not Secure. Set it to the number of proxies (docs/how-to/portal.md)',
    );
  });
}
