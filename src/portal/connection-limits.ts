import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { networkOf } from '../core/address.ts';
import type { PortalLog } from './portal.ts';
import { PortalError } from './portal-error.ts';

/** Open connections of the portal, and connections that were refused since its start. Behind a proxy `address` counts requests. */
export interface ConnectionCounts {
  readonly open: number;
  readonly refused: { readonly address: number; readonly total: number };
}

/** Most connections of one address, or requests behind a proxy. A browser opens six; many people may share an address. */
const mostPerAddress = 500;
const mostInAll = 5_000;

/**
 * Limits the connections of one address and of all together. Behind a trusted proxy, all connections come from the
 * proxy. Then it limits the requests under way of the address that the proxy names. Call it before adding routes.
 * Returns a function that reads the counts.
 */
export function limitConnections(
  app: Pick<FastifyInstance, 'server' | 'addHook'>,
  { trustedHops, log }: { readonly trustedHops: number; readonly log: PortalLog },
): () => ConnectionCounts {
  const { server } = app;
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
  if (trustedHops === 0) noticeProxies(app, log);
  else
    limitRequests(app, () => {
      refused.address += 1;
    });
  return () => ({ open: all, refused: { ...refused } });
}

/** Without this limit, one caller behind a proxy could hold all connections with bodies that never end. */
function limitRequests(app: Pick<FastifyInstance, 'addHook'>, onRefused: () => void): void {
  const underWay = new Map<string, number>();
  app.addHook('onRequest', async ({ ip }, reply) => {
    const address = networkOf(ip);
    const ofAddress = (underWay.get(address) ?? 0) + 1;
    if (ofAddress > mostPerAddress) {
      onRefused();
      // Closes without waiting for the rest of the body.
      reply.header('connection', 'close');
      throw new PortalError(429, 'Too many requests of this address are under way.', { retryAfterSeconds: 1 });
    }
    underWay.set(address, ofAddress);
    reply.raw.once('close', () => {
      const left = (underWay.get(address) ?? 1) - 1;
      if (left === 0) underWay.delete(address);
      else underWay.set(address, left);
    });
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
      'a request came through a proxy, and WEIR_ADMIN_TRUSTED_HOPS is 0: all callers of the proxy count as one address, and cookies are not Secure. Set it to the number of proxies (docs/portal.md)',
    );
  });
}
