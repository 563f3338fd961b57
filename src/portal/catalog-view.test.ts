import { describe, expect, it } from 'vitest';
import { asBrowser, call, memberOf, samplePortal } from '../../test/support/sample-portal.ts';
import type { LiveCatalog, LiveModel, LiveRoute } from '../control/core/live-catalog.ts';
import type { ModelObject, ModelListObject } from './api/catalog.ts';
import { modelsOf } from './catalog-view.ts';
import type { Answers } from './services.ts';

const route = (state: LiveRoute['state'], backend = 'vllm-a'): LiveRoute => ({
  ...{ route: `a/b@${backend}`, backend, engine: 'vllm', upstream_model: 'B', weight: 100, state, success: 1 },
  ...{
    first_output_ms: 80,
    first_output_p95_ms: 200,
    token_ms: 9,
    in_flight: 1,
    capacity: 8,
    endpoints: 1,
    ejected: [],
  },
});

const model = (changes: Partial<LiveModel> = {}): LiveModel => ({
  ...{
    id: 'a/b',
    aliases: [],
    listed: true,
    conditions: [],
    owned_by: 'a',
    kind: 'chat',
    dimensions: null,
    context_length: 4096,
    input_modalities: ['text'],
  },
  reasoning: { mode: 'None', efforts: [] },
  pricing: { prompt: '0.000001', completion: '0.000002', input_cache_read: '0.0000005' },
  ...{ availability: 1, min_availability: null, tokens_per_second_p50: 50, first_token_ms_p50: 100 },
  ...{ parameters: ['stop'], tools: true },
  routes: [route('available')],
  ...changes,
});

const condition = (type: string, status: 'True' | 'False', message: string) => ({
  type,
  status,
  reason: 'Because',
  message,
});

function answers(...catalogs: readonly Partial<LiveCatalog>[]): Answers<LiveCatalog> {
  const data = catalogs.map((said, index) => ({
    service: `http://127.0.0.1:909${index}`,
    said: {
      process: 'p',
      taken_at: '2026-07-01T00:00:00.000Z',
      ready: true,
      models: [],
      backends: [],
      problems: [],
      ...said,
    },
  }));
  return { services: data.map(({ service }) => ({ service, answers: true, problem: null })), data };
}

describe('the catalog of several services', () => {
  it.each<readonly [string, readonly (readonly LiveModel[])[], Pick<ModelObject, 'listed' | 'state' | 'reason'>]>([
    ['all is well', [[model()], [model()]], { listed: true, state: 'available', reason: null }],
    ['a route is full', [[model({ routes: [route('full')] })]], { listed: true, state: 'available', reason: null }],
    [
      'a route was ejected',
      [[model()], [model({ routes: [route('ejected')] })]],
      { listed: true, state: 'degraded', reason: 'a/b@vllm-a is ejected' },
    ],
    [
      'one service does not list it',
      [[model()], [model({ listed: false, conditions: [condition('Servable', 'False', 'no backend is healthy')] })]],
      { listed: true, state: 'degraded', reason: 'no backend is healthy' },
    ],
    [
      'none lists it',
      [
        [
          model({
            listed: false,
            conditions: [condition('Retiring', 'False', ''), condition('Priced', 'False', 'no price')],
          }),
        ],
      ],
      { listed: false, state: 'unavailable', reason: 'no price' },
    ],
  ])('says how a model is when %s', (_, models, expected) => {
    const [merged] = modelsOf(answers(...models.map((some) => ({ models: [...some] }))));
    expect(merged).toMatchObject(expected);
    expect(merged?.routes).toHaveLength(models.length);
  });

  it('adds up what services measure, and takes what a model is from one that knows', () => {
    const unknown = model({ pricing: null, owned_by: null, tokens_per_second_p50: null, first_token_ms_p50: 300 });
    const [merged] = modelsOf(answers({ models: [unknown] }, { models: [model()] }));
    expect(merged).toMatchObject({ owned_by: 'a', tokens_per_second_p50: 50, first_token_ms_p50: 200 });
  });
});

it('shows members no route, backend, endpoint or service', async () => {
  const sample = await samplePortal({ catalog: answers({ models: [model({ routes: [route('ejected')] })] }) });
  const { server, workspace } = sample;
  const all = (await call(server, { url: '/api/v1/models' })).body as ModelListObject;
  expect(all.data[0]?.routes).toMatchObject([
    { service: 'http://127.0.0.1:9090', backend: 'vllm-a', state: 'ejected' },
  ]);
  const headers = asBrowser(await memberOf(sample, workspace.id));
  for (const url of ['/api/v1/models', '/api/v1/session', '/api/v1/workspaces', '/api/v1/usage', '/api/v1/requests']) {
    const reply = await server.inject({ url, headers });
    expect([url, reply.statusCode]).toEqual([url, 200]);
    expect(reply.body).not.toMatch(/vllm|127\.0\.0\.1:9090/);
  }
});
