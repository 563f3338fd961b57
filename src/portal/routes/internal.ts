import type { FastifyRequest } from 'fastify';
import { isSameSecret } from '../../core/internal-token.ts';
import { logLevelBodySchema } from '../../core/log-level.ts';
import { portalReportSchema } from '../problem-list.ts';
import type { Portal } from '../portal.ts';
import { refusal } from '../../books/core/operator-refusals.ts';
import type { App } from '../app.ts';

const url = '/internal/log-level';
const answer = { hide: true, response: { 200: logLevelBodySchema } } as const;

/**
 * The log level of the portal and its own problems, at the same paths and with the same token as on a service's ops port.
 * They are not part of the admin API, whose callers do not have the token of the database.
 */
export function internalRoutes(app: App, { internalToken, logLevel, ownProblems }: Portal): void {
  const onRequest = async ({ headers }: FastifyRequest): Promise<void> => {
    if (isSameSecret(headers.authorization ?? '', `Bearer ${await internalToken()}`)) return;
    throw refusal('internal_token_missing');
  };
  app.get(url, { onRequest, schema: answer }, () => ({ level: logLevel.current() }));
  app.put(url, { onRequest, schema: { ...answer, body: logLevelBodySchema } }, ({ body }) => {
    logLevel.set(body.level);
    return { level: logLevel.current() };
  });
  const report = { hide: true, response: { 200: portalReportSchema } } as const;
  app.get('/internal/problems', { onRequest, schema: report }, () => ({ problems: [...ownProblems()] }));
}
