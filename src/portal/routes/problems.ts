import * as api from '../api/problems.ts';
import { servicesOf } from '../catalog-view.ts';
import type { Portal } from '../portal.ts';
import { type App, describing } from '../app.ts';

const described = describing('problems');

/** The current problems. */
export function problemRoutes(app: App, { problems }: Portal): void {
  app.get(
    '/api/v1/problems',
    described('Current problems, since when, and what to do', { 200: api.problemList }, {}),
    async () => {
      const { services, problems: data } = await problems();
      return { services: servicesOf(services), data: [...data], next_cursor: null };
    },
  );
}
