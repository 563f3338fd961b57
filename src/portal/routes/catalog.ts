import { errors } from '../answers.ts';
import * as api from '../api/catalog.ts';
import { callerOf } from '../authenticate.ts';
import { backendsOf, forMembers, modelsOf, servicesOf } from '../catalog-view.ts';
import type { Portal } from '../portal.ts';
import type { App } from '../app.ts';

/** The models and backends of all services, with the reason why a model is not listed. */
export function catalogRoutes(app: App, { catalog }: Portal): void {
  app.get(
    '/api/v1/models',
    {
      schema: {
        tags: ['catalog'],
        summary: 'The models, and why one is not listed',
        response: { 200: api.modelList, ...errors },
      },
    },
    async (request) => {
      const answers = await catalog();
      const models = modelsOf(answers);
      const isAdmin = callerOf(request).role === 'admin';
      return {
        services: isAdmin ? servicesOf(answers.services) : [],
        data: isAdmin ? models : models.map(forMembers),
        next_cursor: null,
      };
    },
  );

  app.get(
    '/api/v1/backends',
    { schema: { tags: ['catalog'], summary: 'The backends', response: { 200: api.backendList, ...errors } } },
    async () => {
      const answers = await catalog();
      return { services: servicesOf(answers.services), data: backendsOf(answers), next_cursor: null };
    },
  );
}
