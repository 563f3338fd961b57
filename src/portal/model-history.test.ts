import { expect, it } from 'vitest';
import { sampleNow } from '../../test/support/sample-database.ts';
import { sampleOutcome } from '../../test/support/sample-outcome.ts';
import { asBrowser, call, memberOf, samplePortal, signIn } from '../../test/support/sample-portal.ts';
import { type LiveCatalog, liveCatalogSchema } from '../control/core/live-catalog.ts';
import { followPrices } from '../books/accounts/follow-prices.ts';
import type { ModelHistoryObject } from './api/model-history.ts';
import { pricesIn } from './catalog-view.ts';
import type { Answers } from './services.ts';

const minute = 60_000;

function catalogWith(prompt: string | null): Answers<LiveCatalog> {
  const model = {
    ...{ id: 'a/b', listed: true, conditions: [], owned_by: 'a', context_length: 4_096, input_modalities: ['text'] },
    ...{ reasoning: null, availability: 1, min_availability: null, tokens_per_second_p50: 1, first_token_ms_p50: 1 },
    pricing: prompt === null ? null : { prompt, completion: '0.000002', input_cache_read: '0.0000005' },
    routes: [],
  };
  const said = liveCatalogSchema.parse({
    ...{ process: 'p', taken_at: new Date(sampleNow).toISOString(), ready: true, backends: [], problems: [] },
    models: [model],
  });
  const service = 'http://127.0.0.1:9090';
  return { services: [{ service, answers: true, problem: null }], data: [{ service, said }] };
}

const url = '/api/v1/models/history?model=a/b';

it('has each price since the moment at which the portal first saw it', async () => {
  const { server, portal, clock, logged } = await samplePortal({ catalog: catalogWith(null) });
  let seen: () => Promise<Answers<LiveCatalog>> = async () => catalogWith('0.000001');
  let looks = 0;
  const recorded = Promise.withResolvers<void>();
  const look = (): Promise<Answers<LiveCatalog>> => {
    looks += 1;
    return seen();
  };
  const stop = followPrices({ ...portal, prices: async () => pricesIn(await look()) });
  const prices = async () => ((await call(server, { url })).body as ModelHistoryObject).prices;
  clock.advance(2_000);
  await expect.poll(prices).toHaveLength(1);
  seen = async () => catalogWith('0.000003');
  clock.advance(minute);
  await expect.poll(prices).toHaveLength(2);
  // No service answers, or the model is broken: the last price stays.
  seen = async () => {
    recorded.resolve();
    throw new Error('no service answers');
  };
  clock.advance(minute);
  await recorded.promise;
  await expect.poll(() => logged).toHaveLength(1);
  seen = async () => catalogWith(null);
  clock.advance(minute);
  await expect.poll(() => looks).toBe(4);
  const rest = { completion: '0.000002', input_cache_read: '0.0000005' };
  expect(await prices()).toEqual([
    { since: new Date(sampleNow + 2_000 + minute).toISOString(), prompt: '0.000003', ...rest },
    { since: new Date(sampleNow + 2_000).toISOString(), prompt: '0.000001', ...rest },
  ]);
  stop();
  clock.advance(10 * minute);
  expect(looks).toBe(4);
});

it.each([
  [undefined, ['a/b']],
  [['a/*'], ['a/b']],
  [['c/d'], []],
])('shows a key that may call %s the models %s and their history, and no others', async (models, ids) => {
  const { server, accounts, settle, ids: sample, workspace } = await samplePortal({ catalog: catalogWith('0.000001') });
  await settle([sampleOutcome({ ...sample, modelId: 'a/b', requestId: 'r1', startedAt: sampleNow - 3_600_000 })]);
  const by = { actor: { kind: 'command-line', name: 'tester' }, now: sampleNow } as const;
  const { text } = await accounts.createKey({ workspace: workspace.id, rate: 1, burst: 1, models }, by);
  const headers = asBrowser(await signIn(server, { key: text }));
  const list = await server.inject({ url: '/api/v1/models', headers });
  expect(list.json<{ data: { id: string; routes: unknown }[] }>().data.map(({ id, routes }) => [id, routes])).toEqual(
    ids.map((id) => [id, null]),
  );
  expect((await server.inject({ url, headers })).statusCode).toBe(ids.length === 0 ? 404 : 200);
});

it('has the days and, for admins, the traffic of routes', async () => {
  const { server, settle, ids, accounts, workspace } = await samplePortal({ catalog: catalogWith('0.000001') });
  const request = { ...ids, modelId: 'a/b', startedAt: sampleNow - 3_600_000, firstTokenMs: 160, durationMs: 1_200 };
  await settle([
    sampleOutcome({ ...request, requestId: 'r1', routeId: 'a/b@x' }),
    sampleOutcome({ ...request, requestId: 'r2', routeId: 'a/b@x' }),
    sampleOutcome({ ...request, requestId: 'r3', routeId: 'a/b@x' }),
    sampleOutcome({ ...request, requestId: 'r4', routeId: 'a/b@y' }),
    sampleOutcome({ ...request, requestId: 'r5', routeId: 'a/b@y', startedAt: sampleNow - 40 * 86_400_000 }),
  ]);
  const { body } = await call(server, { url: url.replace('a/b', 'A/B') });
  const day = { day: '2026-06-30', first_token_p50_ms: 175, first_token_p95_ms: 198 };
  expect(body).toMatchObject({
    days: [{ ...day, requests: 4, tokens_per_second: expect.closeTo(120 / 4.3, 5) }],
    traffic: [
      { route: 'a/b@x', requests: 3, share: 0.75 },
      { route: 'a/b@y', requests: 1, share: 0.25 },
    ],
  });
  const headers = asBrowser(await memberOf({ accounts }, workspace.id));
  const shown = (await server.inject({ url, headers })).json<ModelHistoryObject>();
  expect(shown).toMatchObject({ days: [{ ...day, requests: null }], traffic: null });
  expect((await call(server, { url: url.replace('a/b', 'no/model') })).status).toBe(404);
});
