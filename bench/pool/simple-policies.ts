import { chanceFrom } from '../../test/support/chance.ts';
import { endpointOf, endpointsOf, routeOf } from '../../test/support/route-of.ts';
import type { AttemptRecord } from '../../src/gateway/core/health.ts';
import { createHealth } from '../../src/gateway/routing/health/health.ts';
import type { CreatePolicy } from './run.ts';

export const roundRobin: CreatePolicy = ({ chance }) => {
  let turn = chance.below(1000);
  return {
    pick: (_, present) => present[turn++ % present.length] ?? 0,
    first: () => undefined,
    ended: () => undefined,
  };
};

/** The endpoint with the fewest requests under way; of equals, one by chance. */
export const leastRequests: CreatePolicy = ({ chance, endpoints }) => {
  const underWay = Array.from({ length: endpoints }, () => 0);
  return {
    pick: (_, present) => {
      const least = Math.min(...present.map((endpoint) => underWay[endpoint] ?? 0));
      const chosen = chance.pick(present.filter((endpoint) => underWay[endpoint] === least));
      underWay[chosen] = least + 1;
      return chosen;
    },
    first: () => undefined,
    ended: (_, endpoint) => {
      underWay[endpoint] = (underWay[endpoint] ?? 1) - 1;
    },
  };
};

/** The health of the product, with its choice of an endpoint by the digest of the conversation. */
export const digestOfConversation: CreatePolicy = ({ chance, endpoints, now }) => {
  const backend = 'pool';
  const health = createHealth({
    clock: { elapsed: now },
    random: chanceFrom(chance.below(2 ** 31)).next,
    endpoints: endpointsOf({ [backend]: endpoints }),
  });
  const route = routeOf(backend);
  const names = Array.from({ length: endpoints }, (_, index) => endpointOf(backend, index + 1).name);
  const records = new Map<number, AttemptRecord>();
  return {
    pick: (request, present) => {
      const avoid = new Set(names.filter((_, index) => !present.includes(index)));
      const record = health.begin(route, { stream: true, affinity: String(request.conversation), avoid });
      if (record === undefined) throw new Error('no endpoint has room');
      records.set(request.id, record);
      return names.indexOf(record.endpoint.name);
    },
    first: ({ id }) => records.get(id)?.output(),
    ended: ({ id, outputTokens }, _, end) => {
      records.get(id)?.ended(end === 'complete' ? { kind: 'complete', tokens: outputTokens } : { kind: 'aborted' });
      records.delete(id);
    },
  };
};
