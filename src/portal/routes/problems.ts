import { problemList } from '../api/catalog.ts';
import { topList, topQuery } from '../api/top.ts';
import { listedProblem } from '../../control/core/problem.ts';
import { servicesOf } from '../catalog-view.ts';
import type { Portal } from '../portal.ts';
import { type App, describing } from '../app.ts';
import { topOf } from '../top.ts';

const described = describing('problems');

/** The current problems, and who sends the requests of the last minute. */
export function problemRoutes(app: App, { problems, services, store }: Portal): void {
  app.get(
    '/api/v1/problems',
    described('Current problems, since when, and what to do', { 200: problemList }, {}),
    async () => {
      const { services: asked, problems: data } = await problems();
      return { services: servicesOf(asked), data: data.map(listedProblem), next_cursor: null };
    },
  );

  app.get(
    '/api/v1/top',
    described(
      'Requests, refusals, tokens, cost and requests in flight over the last minute',
      { 200: topList },
      { querystring: topQuery },
    ),
    async ({ query: { by } }) => {
      const answers = await services.top(by);
      return { services: servicesOf(answers.services), data: await topOf(answers, by, store), next_cursor: null };
    },
  );
}
