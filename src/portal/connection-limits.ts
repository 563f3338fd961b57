import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { networkOf } from '../core/address.ts';
import type { PortalLog } from './portal.ts';
import { PortalError } from './portal-error.ts';

/** How many connections the portal holds, and how many it refused since it started: behind a proxy, requests of one address. */
export interface ConnectionCounts {
  readonly open: number;
  readonly refused: { readonly address: number; readonly total: number };
}

/** Connections, or behind a proxy requests. A browser opens six connections to an address; many people may share one. */
const mostPerAddress = 500;
const mostInAll = 5_000;

/**
 * Bounds the connections of one address, and of all together. Behind a proxy that is trusted all connections are the proxy's: there the
 * requests under way are bounded by the address that the proxy names. Call it before the routes are added. Returns what reads the counts.
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

/** Without it one caller of a proxy, with bodies that never end, takes all connections that there are. */
function limitRequests(app: Pick<FastifyInstance, 'addHook'>, onRefused: () => void): void {
  const underWay = new Map<string, number>();
  app.addHook('onRequest', async ({ ip }, reply) => {
    const address = networkOf(ip);
    const ofAddress = (underWay.get(address) ?? 0) + 1;
    if (ofAddress > mostPerAddress) {
      onRefused();
      // What the request still sends is not waited for.
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

/** Logs once that a proxy is in front which is not counted in the setting. */
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
