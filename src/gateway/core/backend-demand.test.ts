import { describe, expect, it } from 'vitest';
import { sampleDemand } from '../../../test/support/sample-demand.ts';
import { neededEndpoints } from './backend-demand.ts';

describe('the endpoints that a Backend needs', () => {
  it.each([
    ['none without requests', [sampleDemand()], 0],
    ['as many as the work of all services fills', [{ work_tokens: 15_000 }, { work_tokens: 5000 }], 2],
    ['by what each service has learned', [{ work_tokens: 10_000 }, { work_tokens: 5000, endpoint_tokens: 5000 }], 2],
    ['as many as the attempts fill, if these are more', [{ work_tokens: 5000, filled_endpoints: 2.5 }], 2.5],
    ['those of refused requests, too', [{ work_tokens: 5000, refused_tokens: 5000 }], 1],
    ['one, at any target, for refused requests without endpoints', [{ endpoints: 0, refused_tokens: 1e6 }], 0.5],
    ['at most twice as many for refused requests', [{ endpoints: 3, work_tokens: 3e4, refused_tokens: 1e6 }], 6],
    ['so also where several services refuse', Array(4).fill({ endpoints: 2, refused_tokens: 1e6 }), 2],
  ])('are %s', (_, demands, needed) => {
    expect(neededEndpoints(demands.map(sampleDemand))).toBe(needed);
  });
});
