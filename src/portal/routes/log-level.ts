import type { FastifyRequest } from 'fastify';
import { isSameSecret } from '../../core/internal-token.ts';
import { logLevelBodySchema } from '../../core/log-level.ts';
import type { Portal } from '../portal.ts';
import { PortalError } from '../portal-error.ts';
import type { App } from '../app.ts';

const url = '/internal/log-level';
const answer = { hide: true, response: { 200: logLevelBodySchema } } as const;

/**
 * The least level that the portal logs, under the path and with the token that the ops port of a service has for it: no part of the
 * admin API, because whoever signs in to that has no token of the database.
 */
export function logLevelRoutes(app: App, { internalToken, logLevel }: Portal): void {
  const onRequest = async ({ headers }: FastifyRequest): Promise<void> => {
    if (isSameSecret(headers.authorization ?? '', `Bearer ${await internalToken()}`)) return;
    throw new PortalError(401, 'Expected the token of this database.');
  };
  app.get(url, { onRequest, schema: answer }, () => ({ level: logLevel.current() }));
  app.put(url, { onRequest, schema: { ...answer, body: logLevelBodySchema } }, ({ body }) => {
    logLevel.set(body.level);
    return { level: logLevel.current() };
  });
}
