import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { shareDemand } from './shared-demand.ts';

const demandOf = (backend: string) => ({
  ...{ backend, endpoints: 1, work_tokens: 5, refused_tokens: 0, endpoint_tokens: 10, filled_endpoints: 0 },
  ...{ under_way: 1, refused_requests: 0, quiet_ms: 0, first_token_ms: null },
});
const report = (isWhole: boolean, ...backends: readonly string[]): string =>
  JSON.stringify({ isWhole, backends: backends.map(demandOf) });

it.each<[string, readonly string[], { readonly demands: number; readonly reporting: number } | undefined]>([
  ['of no other replica', [], { demands: 0, reporting: 0 }],
  ['with the Backend', [report(true, 'a'), report(false, 'a', 'b')], { demands: 2, reporting: 2 }],
  ['that is whole and does not have it', [report(true, 'b')], { demands: 0, reporting: 1 }],
  ['that is cut and does not have it', [report(false, 'b')], { demands: 0, reporting: 0 }],
  ['of another version', ['{"backends":7}', 'x'], { demands: 0, reporting: 0 }],
])('the demand by a report %s', async (_, texts, expected) => {
  const clock = createFakeClock();
  const demand = shareDemand({
    ...{ clock, newId: () => 'own', read: () => [] },
    link: { isUp: () => true, key: (name) => name, run: () => Promise.resolve(texts) },
  });
  expect(demand.of('a')).toBeUndefined();
  clock.advance(1_000);
  await expect.poll(() => demand.of('a')).toBeDefined();
  const found = demand.of('a');
  expect(found && { demands: found.demands.length, reporting: found.reporting }).toEqual(expected);
  // A demand that was read long ago does not count.
  demand.close();
  clock.advance(3_000);
  expect(demand.of('a')).toBeUndefined();
});
