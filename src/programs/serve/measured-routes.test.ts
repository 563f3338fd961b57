import { expect, it } from 'vitest';
import { routeOf } from '../../../test/support/route-of.ts';
import type { Probe } from '../../control/reconcilers/probe-backends.ts';
import { isOnTrial } from './measured-routes.ts';

const minute = 60_000;
const lists = (at: number): Probe => ({ at, since: at, answer: { kind: 'lists' } });
const fails = (at: number): Probe => ({ at, since: at, answer: { kind: 'fails', cause: 'connection-refused' } });

it.each<readonly [string, { triedAt?: number; probe?: Probe; hasEndpoint?: false; isProxied?: true }, boolean]>([
  ['the engine answers, and nobody asked it for a minute', { triedAt: 0, probe: lists(10) }, true],
  ['the engine is dead, however long nobody asks', { triedAt: 0, probe: fails(10) }, false],
  ['a request came lately', { triedAt: 1, probe: lists(10) }, false],
  ['the engine has not been asked since', { triedAt: 0, probe: lists(-1) }, false],
  ['the engine was never asked', { triedAt: 0 }, false],
  ['no request was ever tried', { probe: lists(10) }, false],
  ['no endpoint passes its health check', { triedAt: 0, probe: lists(10), hasEndpoint: false }, false],
  ['the engine is behind a proxy, where nobody can ask it', { triedAt: 0, isProxied: true }, true],
])('%s', (_, { triedAt, probe, hasEndpoint = true, isProxied }, expected) => {
  const route = routeOf('a');
  const cluster = { ...route.backend.cluster, proxy: isProxied && { host: 'proxy', port: 3128 } };
  const is = isOnTrial(
    { ...route, backend: { ...route.backend, cluster } },
    {
      now: minute,
      health: { record: () => ({ answeredAt: undefined, failing: undefined, refusal: undefined, triedAt }) },
      probes: { of: () => probe },
      checks: { hasEndpoint: () => hasEndpoint },
    },
  );
  expect(is).toBe(expected);
});
