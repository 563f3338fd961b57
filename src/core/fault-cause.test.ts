import { describe, expect, it } from 'vitest';
import { type Cause, type CauseRow, causeNamed, causeReason, causes, causeText, endedByRepair } from './cause.ts';
import { type Fault, faultKinds } from './event.ts';
import { causeOf } from './fault-cause.ts';

const rows: readonly (readonly [Omit<Fault, 'detail'> & { detail?: string }, Cause])[] = [
  [{ kind: 'connect', detail: 'Envoy UF', cause: 'certificate-expired' }, 'certificate-expired'],
  [{ kind: 'connect', detail: 'Envoy UF' }, 'connect-failed'],
  [{ kind: 'connect', detail: 'Envoy UH' }, 'fails-health-check'],
  [{ kind: 'connect', detail: 'Envoy UC' }, 'breaks-off'],
  [{ kind: 'connect', detail: 'Envoy UF,URX' }, 'connect-failed'],
  [{ kind: 'connect', detail: 'PROTOCOL' }, 'unreadable'],
  [{ kind: 'connect', detail: 'Envoy UPE' }, 'unreadable'],
  [{ kind: 'status', status: 302, engineError: 'other' }, 'redirects'],
  [{ kind: 'status', status: 401, engineError: 'account' }, 'credential-refused'],
  [{ kind: 'status', status: 402, engineError: 'account' }, 'no-quota'],
  [{ kind: 'status', status: 404, engineError: 'not-found' }, 'no-such-path'],
  [{ kind: 'status', status: 404, engineError: 'not-found', cause: 'no-such-model' }, 'no-such-model'],
  [{ kind: 'status', status: 429, engineError: 'rate-limit' }, 'rate-limited'],
  [{ kind: 'status', status: 503, engineError: 'overloaded' }, 'full'],
  [{ kind: 'status', status: 500, engineError: 'other' }, 'server-error'],
  [{ kind: 'engine-error', engineError: 'bad-request' }, 'refuses-request'],
  [{ kind: 'content-type' }, 'not-an-api'],
  [{ kind: 'malformed' }, 'unreadable'],
  [{ kind: 'truncated' }, 'breaks-off'],
  [{ kind: 'reset', detail: 'Envoy UC' }, 'breaks-off'],
  [{ kind: 'stalled' }, 'silent'],
];

describe('the cause of a fault', () => {
  it.each(rows)('%j: %s', (fault, cause) => {
    expect(causeOf({ detail: '', ...fault })).toBe(cause);
  });

  it('is known for each kind of fault', () => {
    for (const kind of faultKinds) expect(causes).toHaveProperty(causeOf({ kind, detail: '' }));
  });

  it('has a reason of its own, in one word that Kubernetes takes', () => {
    const reasons = Object.keys(causes).map(causeReason);
    expect(new Set(reasons).size).toBe(reasons.length);
    for (const reason of reasons) expect(reason).toMatch(/^[A-Z][A-Za-z]+$/);
  });
});

it('lets nobody repair only what is no fault or passes, and leaves a retry to everything that may pass', () => {
  const named = (keep: (row: CauseRow, name: string) => boolean) =>
    Object.entries<CauseRow>(causes).flatMap(([name, row]) => (keep(row, name) ? [name] : []));
  expect(named(({ who }) => who === 'nobody')).toEqual(['content-policy', 'loading', 'cannot-continue']);
  expect(named(({ who }) => who === 'account')).toEqual(['no-quota', 'rate-limited']);
  expect(named((_, name) => !endedByRepair.has(name))).toEqual([
    ...['connection-refused', 'no-such-host', 'connect-timeout', 'no-route', 'fails-health-check', 'not-in-envoy'],
    ...['connect-failed', 'loading', 'rate-limited', 'full', 'out-of-memory', 'server-error', 'breaks-off', 'silent'],
    ...['unreadable', 'wrong-structure', 'cannot-continue'],
  ]);
});

it('names causes, and none of another version', () => {
  expect(causeNamed('silent')).toBe('silent');
  expect([causeNamed('toString'), causeNamed('of-tomorrow'), causeNamed(undefined)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

it('adds the HTTP status, if there is one', () => {
  expect(causeText('credential-refused', 401)).toBe('refuses the credential (HTTP 401)');
  expect(causeText('connection-refused', undefined)).toBe('refuses connections');
});
