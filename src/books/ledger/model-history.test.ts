// @suite both-databases
import { expect, it } from 'vitest';
import { sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { modelHistory } from './model-history.ts';

const day = 86_400_000;

async function ledger() {
  const { queries, ids, settle } = await sampleDatabase();
  let count = 0;
  const request = (changes: Parameters<typeof sampleOutcome>[0]) => {
    count += 1;
    return sampleOutcome({ ...ids, requestId: `r${count}`, modelId: 'a/a', routeId: 'a/a@x', ...changes });
  };
  return { queries, settle, request };
}

it('has the first token and the speed of each day, of one model, since a day', async () => {
  const { queries, settle, request } = await ledger();
  const usage = { promptTokens: 1, completionTokens: 40, cachedTokens: 0, reasoningTokens: 0 };
  // In the middles of their buckets: 175 and 1,250 ms.
  const usual = { usage, firstTokenMs: 160, durationMs: 1_200 };
  await settle([
    request({ ...usual, startedAt: sampleNow - 2 * day }),
    request({ ...usual, startedAt: sampleNow }),
    request({ ...usual, startedAt: sampleNow + 1 }),
    // Slow and broken: counts for the first token, and not for the speed.
    request({ ...usual, startedAt: sampleNow + 2, kind: 'interrupted', firstTokenMs: 20_000, durationMs: 90_000 }),
    request({ ...usual, startedAt: sampleNow + 3, modelId: 'b/b', routeId: 'b/b@x', firstTokenMs: 9_000 }),
  ]);
  const asked = { modelId: 'a/a', daysSince: sampleNow, trafficSince: sampleNow };
  const { days } = await modelHistory(queries, asked);
  expect(days).toEqual([
    {
      ...{ day: '2026-07-01', requests: 3, firstTokenP50Ms: 188, firstTokenP95Ms: 27_000 },
      tokensPerSecond: expect.closeTo((80 / (2 * (1_250 - 175))) * 1_000, 5),
    },
  ]);
  const earlier = await modelHistory(queries, { ...asked, daysSince: sampleNow - 2 * day });
  expect(earlier.days.map((one) => one.day)).toEqual(['2026-06-29', '2026-07-01']);
  expect(await modelHistory(queries, { ...asked, modelId: 'none/none' })).toEqual({ days: [], traffic: [] });
});

it('has no figures of a day without a token', async () => {
  const { queries, settle, request } = await ledger();
  await settle([request({ startedAt: sampleNow, kind: 'failed', firstTokenMs: undefined })]);
  const { days } = await modelHistory(queries, { modelId: 'a/a', daysSince: sampleNow, trafficSince: sampleNow });
  const none = { firstTokenP50Ms: undefined, firstTokenP95Ms: undefined, tokensPerSecond: undefined };
  expect(days).toEqual([{ day: '2026-07-01', requests: 1, ...none }]);
});

it('has the newest requests by the route that delivered them', async () => {
  const { queries, settle, request } = await ledger();
  await settle([
    request({ startedAt: sampleNow - 1 }),
    request({ startedAt: sampleNow }),
    request({ startedAt: sampleNow + 1 }),
    request({ startedAt: sampleNow + 2, routeId: 'a/a@y' }),
    // Not delivered by any route.
    request({ startedAt: sampleNow + 3, routeId: undefined, kind: 'failed' }),
    request({ startedAt: sampleNow + 4, modelId: 'b/b', routeId: 'b/b@x' }),
  ]);
  const { traffic } = await modelHistory(queries, { modelId: 'a/a', daysSince: 0, trafficSince: sampleNow });
  expect(traffic).toEqual([
    { route: 'a/a@x', requests: 2 },
    { route: 'a/a@y', requests: 1 },
  ]);
});
