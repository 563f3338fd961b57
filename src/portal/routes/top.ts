import * as api from '../api/top.ts';
import { servicesOf } from '../catalog-view.ts';
import type { Portal } from '../portal.ts';
import { type App, describing } from '../app.ts';
import { topOf } from '../top.ts';

const described = describing('problems');

/** Who sends the requests of the last minute. */
export function topRoutes(app: App, { services, store }: Portal): void {
  app.get(
    '/api/v1/top',
    described(
      'Requests, refusals, tokens, cost and requests in flight over the last minute',
      { 200: api.topList },
      { querystring: api.topQuery },
    ),
    async ({ query: { by } }) => {
      const answers = await services.top(by);
      return { services: servicesOf(answers.services), data: await topOf(answers, by, store), next_cursor: null };
    },
  );
}
