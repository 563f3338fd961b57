import { expect, it } from 'vitest';
import type { Fault } from '../../../core/event.ts';
import { blameOf } from './endpoint-attempt.ts';

// What an endpoint does with the blame, attempt by attempt: health.test.ts, route-health.test.ts and flapping-endpoints.test.ts.
it.each<readonly [string, Partial<Fault>, ReturnType<typeof blameOf>]>([
  ['a connection that is reset', { kind: 'reset' }, 'broken'],
  ['a connection that is refused', { kind: 'connect', detail: 'ECONNREFUSED' }, 'broken'],
  ['our own lack of files', { kind: 'connect', detail: 'EMFILE' }, 'nothing'],
  ["the machine's lack of files", { kind: 'connect', detail: 'ENFILE' }, 'nothing'],
  ['our own lack of buffers', { kind: 'connect', detail: 'ENOBUFS' }, 'nothing'],
  ['a reset that only has the name of a shortage', { kind: 'reset', detail: 'EMFILE' }, 'broken'],
  ['a status of which the engine says no more', { status: 500, engineError: 'other' }, 'broken'],
  ['a rate limit', { status: 429, engineError: 'rate-limit' }, 'full'],
  ['a 429 of any kind', { status: 429, engineError: 'other' }, 'full'],
  ['a key that has no money left, as a 429', { status: 429, engineError: 'account' }, 'full'],
  ['a key that is refused', { status: 401, engineError: 'account' }, 'broken'],
  ['a model that is not there', { status: 404, engineError: 'not-found' }, 'broken'],
  ['a 503 that names a time', { status: 503, engineError: 'overloaded', retryAfterSeconds: 2 }, 'full'],
  [
    'a 503 without a time, perhaps of a proxy before a dead engine',
    { status: 503, engineError: 'overloaded' },
    'broken',
  ],
  ['a prompt that is too long', { status: 400, engineError: 'context-length' }, 'nothing'],
  ['a request that is wrong', { status: 400, engineError: 'bad-request' }, 'nothing'],
  ['a page of a proxy', { status: 413, engineError: 'misconfigured' }, 'nothing'],
  ['a prompt against a policy', { status: 400, engineError: 'content-policy' }, 'nothing'],
  ['an answer with the wrong structure', { kind: 'structure', engineError: 'other' }, 'nothing'],
  ['an answer that does not go on where another one broke off', { kind: 'disjoint' }, 'nothing'],
])('blames an endpoint for %s as it should', (_, fault, blame) => {
  expect(blameOf({ kind: 'status', detail: '', ...fault })).toBe(blame);
});
