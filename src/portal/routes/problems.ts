import { errors } from '../answers.ts';
import * as api from '../api/problems.ts';
import { servicesOf } from '../catalog-view.ts';
import type { Portal } from '../portal.ts';
import type { App } from '../app.ts';

/** The current problems. */
export function problemRoutes(app: App, { problems }: Portal): void {
  app.get(
    '/api/v1/problems',
    {
      schema: {
        tags: ['problems'],
        summary: 'Current problems, since when, and what to do',
        response: { 200: api.problemList, ...errors },
      },
    },
    async () => {
      const { services, problems: data } = await problems();
      return { services: servicesOf(services), data: [...data], next_cursor: null };
    },
  );
}
