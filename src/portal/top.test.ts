import { expect, it } from 'vitest';
import { call, samplePortal } from '../../test/support/sample-portal.ts';
import type { Answers } from './services.ts';
import type { TrafficRow } from '../telemetry/core/traffic.ts';

const row = (changes: Partial<TrafficRow>): TrafficRow => ({
  ...{
    name: null,
    requests: 0,
    refused: {},
    would_refuse: {},
    failed: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    cost: '0',
    in_flight: 0,
  },
  ...changes,
});

it('adds up what all services counted, with the names of keys, the most requests first', async () => {
  const said: { top?: Answers<readonly TrafficRow[]> } = {};
  const { server, key, workspace } = await samplePortal(said);
  const rows = (requests: number): readonly TrafficRow[] => [
    row({
      name: key.id,
      requests,
      refused: { rate_limited: 1 },
      would_refuse: { tokens: 2 },
      cost: '0.25',
      in_flight: 2,
      prompt_tokens: 3,
    }),
    row({ requests: 1, refused: { unauthenticated: 1 } }),
  ];
  const services = [
    { service: 'http://a', answers: true, problem: null },
    { service: 'http://b', answers: true, problem: null },
  ];
  const data = [
    { service: 'http://a', said: rows(5) },
    { service: 'http://b', said: rows(7) },
  ];
  said.top = { services, data };
  const { status, body } = await call(server, { method: 'GET', url: '/api/v1/top?by=key' });
  expect(status).toBe(200);
  expect(body).toEqual({
    services,
    data: [
      {
        ...row({
          name: key.id,
          requests: 12,
          refused: { rate_limited: 2 },
          would_refuse: { tokens: 4 },
          cost: '0.5',
          in_flight: 4,
          prompt_tokens: 6,
        }),
        label: expect.stringContaining(workspace.name),
      },
      { ...row({ requests: 2, refused: { unauthenticated: 2 } }), label: null },
    ],
    next_cursor: null,
  });
  expect(await call(server, { method: 'GET', url: '/api/v1/top?by=color' })).toMatchObject({ status: 400 });
});
