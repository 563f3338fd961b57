import * as api from '../api/catalog.ts';
import { callerOf } from '../authenticate.ts';
import { backendsOf, forMembers, modelsOf, servicesOf } from '../catalog-view.ts';
import type { Portal } from '../portal.ts';
import { modelsSeen } from '../visible.ts';
import { type App, describing } from '../app.ts';

const described = describing('catalog');

/** The models and backends of all services, with the reason why a model is not listed. */
export function catalogRoutes(app: App, { store, catalog }: Portal): void {
  app.get(
    '/api/v1/models',
    described('The models, and why one is not listed', { 200: api.modelList }, {}),
    async (request) => {
      const answers = await catalog();
      const caller = callerOf(request);
      const isSeen = await modelsSeen(store, caller);
      const models = modelsOf(answers).filter(({ id }) => isSeen(id));
      const isAdmin = caller.role === 'admin';
      return {
        services: isAdmin ? servicesOf(answers.services) : [],
        data: isAdmin ? models : models.map(forMembers),
        next_cursor: null,
      };
    },
  );

  app.get('/api/v1/backends', described('The backends', { 200: api.backendList }, {}), async () => {
    const answers = await catalog();
    return { services: servicesOf(answers.services), data: backendsOf(answers), next_cursor: null };
  });
}
