import { chanceFrom } from '../../test/support/chance.ts';
import { endpointOf, endpointsOf, routeOf } from '../../test/support/route-of.ts';
import type { AttemptRecord } from '../../src/gateway/core/health.ts';
import type { Route } from '../../src/core/catalog.ts';
import { createHealth } from '../../src/gateway/routing/health/health.ts';
import { order } from '../../src/gateway/routing/score.ts';
import type { CreatePolicy } from './run.ts';

/** How the first route is chosen: by the conversation and the score alone, or among equal ones by their endpoints. */
type FirstRoute = 'by-score' | 'by-endpoints';

/** The product's plan and pools, for a model of several routes of so many endpoints each. */
export const routePolicy =
  (endpointsEach: number, firstRoute: FirstRoute, create = createHealth): CreatePolicy =>
  ({ chance, endpoints, now, blockTokens }) => {
    const count = endpoints / endpointsEach;
    const names = Array.from({ length: count }, (_, index) => `route-${index}`);
    const random = chanceFrom(chance.below(2 ** 31)).next;
    const health = create({
      clock: { elapsed: now },
      random,
      endpoints: endpointsOf(Object.fromEntries(names.map((name) => [name, endpointsEach]))),
    });
    const routes = names.map((name) => routeOf(name));
    const candidates = routes.map((route) => ({ route, target: undefined as never, honoured: 0 }));
    const endpointNames = Array.from({ length: endpointsEach }, (_, index) => endpointOf('', index + 1).name);
    const records = new Map<number, AttemptRecord>();
    const cachedOf = new Map<number, { readonly tokens: number; readonly cachedTokens: number }>();
    return {
      pick: (request) => {
        const digests = request.blocks.slice(0, request.promptBlocks);
        const poolPrompt = {
          digests,
          ends: digests.map((_, index) => (index + 1) * blockTokens),
          tokens: request.promptTokens,
        };
        const affinity = String(request.conversation);
        const ask = { stream: true, capabilities: [] };
        const ordered = order(candidates, { view: health, ask, turn: random(), affinity });
        const [first] = ordered.candidates;
        if (first === undefined) throw new Error('no route is left');
        const equals = ordered.equals.map((candidate) => candidate.route);
        const route: Route =
          firstRoute === 'by-score'
            ? first.route
            : (health.soonest(equals, { stream: true, poolPrompt, affinity }) ?? first.route);
        const record = health.begin(route, { stream: true, affinity, poolPrompt });
        if (record === undefined) throw new Error('no endpoint has room');
        records.set(request.id, record);
        return routes.indexOf(route) * endpointsEach + endpointNames.indexOf(record.endpoint.name);
      },
      first: ({ id, promptTokens }, _, cached) => {
        records.get(id)?.output();
        cachedOf.set(id, { tokens: promptTokens, cachedTokens: cached });
      },
      ended: ({ id, outputTokens }, _, end) => {
        const prompt = cachedOf.get(id);
        records
          .get(id)
          ?.ended(end === 'complete' ? { kind: 'complete', tokens: outputTokens, prompt } : { kind: 'aborted' });
        records.delete(id);
        cachedOf.delete(id);
      },
    };
  };
