import { z } from 'zod';
import { defaultThresholds } from '../../core/alert.ts';
import * as api from '../api/alerts.ts';
import { callerOf } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import { type App, describing } from '../app.ts';
import type { Portal } from '../portal.ts';
import { visibleWorkspace } from '../visible.ts';

const described = describing('alerts');

const params = z.object({ id: z.string().meta({ description: 'Id or name of the workspace.' }) });
const newest = 100;

/** Thresholds of balances, and what has reached one. */
export function alertRoutes(app: App, { store, clock }: Portal): void {
  app.get(
    '/api/v1/workspaces/:id/alerts',
    described('The newest alerts', { 200: api.alertList }, { params }),
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
    described('Set the balance thresholds', { 200: api.thresholdsSet }, { params, body: api.newThresholds }),
    async (request) => {
      const caller = callerOf(request);
      const { id } = await visibleWorkspace(store, caller, request.params.id);
      const by = authorship(caller, clock.now());
      const set = await store.setWorkspaceThresholds(id, request.body.percents ?? undefined, by);
      return { thresholds: [...(set ?? defaultThresholds)] };
    },
  );
}
