import { z } from 'zod';
import type { AuditEntry } from '../../books/core/administration.ts';
import * as api from '../api/model-history.ts';
import { callerOf } from '../authenticate.ts';
import { modelsOf } from '../catalog-view.ts';
import type { Portal } from '../portal.ts';
import { modelsSeen } from '../visible.ts';
import { refusal } from '../../books/core/operator-refusals.ts';
import { type App, describing } from '../app.ts';

const described = describing('catalog');

const dayMs = 86_400_000;
const shownDays = 30;
const maxPrices = 100;

/** Prices and speed of one model over time, and the traffic of its routes. */
export function modelHistoryRoutes(app: App, { store, catalog, clock }: Portal): void {
  app.get(
    '/api/v1/models/history',
    described(
      'Prices and speed of a model over time',
      { 200: api.modelHistory },
      { querystring: api.modelHistoryQuery },
    ),
    async (request) => {
      const model = request.query.model.toLowerCase();
      const caller = callerOf(request);
      const isAdmin = caller.role === 'admin';
      if (!(await modelsSeen(store, caller))(model)) throw refusal('model_not_found', { model });
      const now = clock.now();
      const today = Math.floor(now / dayMs) * dayMs;
      const [{ days, traffic }, changes] = await Promise.all([
        store.modelHistory({
          modelId: model,
          daysSince: today - (shownDays - 1) * dayMs,
          trafficSince: now - dayMs,
        }),
        store.listAudit({ action: 'model.price', objectId: model }, maxPrices),
      ]);
      if (days.length === 0 && changes.length === 0 && !modelsOf(await catalog()).some(({ id }) => id === model)) {
        throw refusal('model_not_found', { model });
      }
      const delivered = traffic.reduce((sum, { requests }) => sum + requests, 0);
      return {
        model,
        prices: changes.map(pricesOf),
        days: days.map((day) => ({
          day: day.day,
          requests: isAdmin ? day.requests : null,
          first_token_p50_ms: day.firstTokenP50Ms ?? null,
          first_token_p95_ms: day.firstTokenP95Ms ?? null,
          tokens_per_second: day.tokensPerSecond ?? null,
        })),
        traffic: isAdmin
          ? traffic.map(({ route, requests }) => ({ route, requests, share: requests / delivered }))
          : null,
      };
    },
  );
}

const recorded = z.object({ prompt: z.string(), completion: z.string(), input_cache_read: z.string() });

function pricesOf({ at, after }: AuditEntry): api.PricesSinceObject {
  return { since: new Date(at).toISOString(), ...recorded.parse(after) };
}
