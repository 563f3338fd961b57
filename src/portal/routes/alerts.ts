import { z } from 'zod';
import { defaultThresholds } from '../../core/alert.ts';
import { errors } from '../answers.ts';
import * as api from '../api/alerts.ts';
import { callerOf } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import type { App } from '../app.ts';
import type { Portal } from '../portal.ts';
import { visibleWorkspace } from '../visible.ts';

const tags = ['alerts'];
const params = z.object({ id: z.string().meta({ description: 'Id or name of the workspace.' }) });
const newest = 100;

/** Thresholds of balances, and what has reached one. */
export function alertRoutes(app: App, { store, clock }: Portal): void {
  app.get(
    '/api/v1/workspaces/:id/alerts',
    { schema: { tags, summary: 'The newest alerts', params, response: { 200: api.alertList, ...errors } } },
    async (request) => {
      const { id } = await visibleWorkspace(store, callerOf(request), request.params.id);
      const [alerts, own] = await Promise.all([store.listAlerts(id, newest), store.ownThresholds([id])]);
      const names = await store.keyNames(alerts.flatMap(({ keyId }) => keyId ?? []));
      return {
        thresholds: [...(own.get(id) ?? defaultThresholds)],
        data: alerts.map(({ id: alert, kind, keyId, tag, percent, used, limit, at, delivery }) => ({
          ...{ id: alert, kind, key: keyId ?? null, percent, used, limit, delivery },
          tag: tag ?? null,
          key_name: keyId === undefined ? null : (names.get(keyId) ?? null),
          at: new Date(at).toISOString(),
        })),
        next_cursor: null,
      };
    },
  );

  app.post(
    '/api/v1/workspaces/:id/thresholds',
    {
      schema: {
        tags,
        summary: 'Set the thresholds of the balance',
        params,
        body: api.newThresholds,
        response: { 200: api.thresholdsSet, ...errors },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { id } = await visibleWorkspace(store, caller, request.params.id);
      const by = authorship(caller, clock.now());
      const set = await store.setWorkspaceThresholds(id, request.body.percents ?? undefined, by);
      return { thresholds: [...(set ?? defaultThresholds)] };
    },
  );
}
