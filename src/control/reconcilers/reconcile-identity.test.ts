import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import type { AccountObject } from '../../books/core/declared-account.ts';
import type { DeclaredAccounts } from './store-port.ts';
import { type Refusal, refusal } from '../../books/core/operator-refusals.ts';
import type { CheckIdentity, Identity } from '../../core/identity.ts';
import { reconcileIdentity } from './reconcile-identity.ts';
import type { ReconcileParts } from './reconcile-parts.ts';

const good = {
  ...{ issuer: 'cluster', audience: 'weir', match: ['claims.sub != ""'], workspace: 'search', each: 'Subject' },
  ...{ tags: { app: 'claims.sub' }, bound: true, budget: { usd: '2.5', period: 'Month' }, rate: { perSecond: 7 } },
  tokensPerMinute: 5_000,
  notEnforced: ['tokens'],
  models: ['qwen/*'],
};

interface Given {
  readonly spec?: object;
  readonly name?: string;
  readonly namespace?: string;
  readonly deletedAt?: string;
  readonly isManaging?: boolean;
  /** The Workspaces that are objects of the namespace. */
  readonly workspaces?: readonly string[];
  readonly inLedger?: Partial<Identity>;
  readonly refused?: Refusal;
  readonly said?: string;
  readonly fault?: Awaited<ReturnType<CheckIdentity>>;
}

/** Reconciles an Identity with a ledger that takes it as it is, or refuses it. */
async function reconciled(given: Given) {
  const { namespace = 'team', name = 'prod', workspaces = ['search'], deletedAt, isManaging = true } = given;
  const value = { apiVersion: 'weir.dev/v1alpha1', kind: 'Identity', metadata: { name }, spec: given.spec ?? good };
  const object: AccountObject = {
    ...{ kind: 'Identity', namespace, name, uid: 'uid', generation: 1, resourceVersion: '1', deletedAt },
    ...{ finalizers: [], annotations: {}, status: undefined, declared: { where: name, value } },
  };
  const calls: string[] = [];
  const wanted: object[] = [];
  const accounts: Partial<DeclaredAccounts> = {
    declaredWorkspace: (place) => Promise.resolve({ id: `ws_${place.name}` } as never),
    declareIdentity: (_, identity) => {
      wanted.push(identity);
      if (given.refused !== undefined) return Promise.reject(given.refused);
      return Promise.resolve({ identity: { ...identity, id: 'identity_1', ...given.inLedger }, isNew: true });
    },
    leaveIdentity: () => {
      calls.push('leave');
      return Promise.resolve();
    },
  };
  const parts = {
    ...{ clock: createFakeClock(), accounts },
    find: (_: unknown, place: { readonly name: string }) =>
      workspaces.includes(place.name) ? ({ ...object, kind: 'Workspace', deletedAt: undefined } as const) : undefined,
    authorOf: () => ({
      declarer: { namespace, name, isManaging },
      by: { actor: { kind: 'controller', name: 'x' }, now: 0 },
    }),
    ledgerName: (one: { readonly namespace: string; readonly name: string }) =>
      one.namespace === 'own' ? one.name : `${one.namespace}_${one.name}`,
    hold: () => Promise.resolve(void calls.push('hold')),
    release: () => Promise.resolve(void calls.push('release')),
    checkIdentity: async () => given.fault,
    said: () => (given.said === undefined ? undefined : { reason: given.said }),
  } as unknown as ReconcileParts;
  return { result: await reconcileIdentity(object, parts), calls, wanted };
}

it('gives the ledger the rules and limits of the object, and shows what the ledger has', async () => {
  const { result, calls, wanted } = await reconciled({});
  expect(wanted).toEqual([
    {
      ...{ name: 'team_prod', issuer: 'cluster', audience: 'weir', match: ['claims.sub != ""'] },
      ...{ workspace: { name: 'team_search' }, each: 'subject', tags: { app: 'claims.sub' }, isBound: true },
      ...{ status: 'active', models: ['qwen/*'], rate: 7, burst: 200, tokensPerMinute: 5_000, notEnforced: ['tokens'] },
      budget: { limit: 2_500_000_000_000n, period: 'month' },
    },
  ]);
  expect(calls).toEqual(['hold']);
  expect(result).toMatchObject({
    statements: [
      { type: 'Accepted', status: 'True' },
      { type: 'Ready', status: 'True', reason: 'Ready' },
    ],
    fields: { id: 'identity_1', ledgerName: 'team_prod' },
    events: [{ reason: 'Created' }],
    next: 'done',
  });
});

it.each([
  ['team', 'team_'],
  ['own', ''],
])('lets a claim name only Workspaces of its own namespace: %s', async (namespace, prefix) => {
  const { workspace: _, ...spec } = good;
  const { wanted } = await reconciled({ namespace, spec: { ...spec, workspaceClaim: 'claims.team' }, workspaces: [] });
  expect(wanted).toMatchObject([{ workspace: { claim: 'claims.team', prefix } }]);
});

const malformed = (field: string) => refusal('identity_malformed', { field, reason: 'no' }, { field });
const full = refusal(
  'list_full',
  { list: 'Weir', max: 1, entries: 'identities', remedy: 'Remove one.' },
  { field: 'name' },
);
it.each<readonly [Given, reason: string, message: RegExp, next: string]>([
  [{ spec: { ...good, workspaceClaim: 'claims.a' } }, 'Invalid', /^spec\.workspace: expected workspace or/, 'done'],
  [{ spec: { ...good, bound: true, issuer: 'https://a.example' } }, 'Invalid', /^spec\.bound: expected issuer/, 'done'],
  [{ spec: { ...good, issuer: 'http://a.example' } }, 'Invalid', /^spec\.issuer: expected "cluster"/, 'done'],
  [{ name: 'a'.repeat(64) }, 'Invalid', /^metadata\.name: expected at most 63 characters/, 'done'],
  [{ workspaces: [] }, 'WorkspaceNotFound', /^spec\.workspace: expected a Workspace in namespace "team"/, 'again'],
  [{ refused: malformed('match') }, 'Invalid', /^spec\.match: no$/, 'done'],
  [{ refused: malformed('workspace_claim') }, 'Invalid', /^spec\.workspaceClaim: no$/, 'done'],
  [
    { refused: refusal('identity_exists', { name: 'team_prod' }) },
    ...(['NameTaken', /^metadata\.name: There is already an identity named "team_prod"/, 'done'] as const),
  ],
  [{ refused: full }, 'Refused', /^metadata\.name: Weir has at most 1 identities/, 'done'],
])('is not accepted, with the field: %j', async (given, reason, message, next) => {
  const { result } = await reconciled(given);
  expect(result).toMatchObject({
    statements: [
      { type: 'Accepted', status: 'False', reason, message: expect.stringMatching(message) },
      { type: 'Ready', status: 'False', reason: 'NotAccepted' },
    ],
    next,
  });
});

it.each<readonly [Given, status: string, reason: string, events: readonly string[]]>([
  [{ spec: { ...good, status: 'Suspended' } }, 'True', 'Suspended', ['Created', 'Suspended']],
  [{ spec: { ...good, status: 'Suspended' }, said: 'Suspended' }, 'True', 'Suspended', ['Created']],
  [{ said: 'Suspended' }, 'True', 'Ready', ['Created', 'Resumed']],
  [{ inLedger: { status: 'suspended' } }, 'False', 'Suspended', ['Created']],
  [{ inLedger: { status: 'revoked' } }, 'False', 'Revoked', ['Created']],
])('is ready or says why not: %j', async (given, status, reason, events) => {
  const { result } = await reconciled(given);
  const [, ready] = result.next === 'gone' ? [] : result.statements;
  expect(ready).toMatchObject({ type: 'Ready', status, reason });
  expect(result.events.map((event) => event.reason)).toEqual(events);
});

it('is not ready while no token of it can be verified, and is looked at again', async () => {
  const fault = { reason: 'IssuerNotRead', message: 'spec.issuer: it answered 404' } as const;
  const { result } = await reconciled({ fault });
  expect(result).toMatchObject({
    statements: [
      { type: 'Accepted', status: 'True' },
      { type: 'Ready', status: 'False', ...fault },
    ],
    next: 'again',
  });
});

it.each([
  [true, 'Revoked'],
  [false, 'Deleted'],
])('leaves the ledger before its finalizer goes, managing: %s', async (isManaging, reason) => {
  const { result, calls } = await reconciled({ isManaging, deletedAt: '2026-07-01T00:00:00Z', spec: {} });
  expect(calls).toEqual(['leave', 'release']);
  expect(result).toMatchObject({ next: 'gone', events: [{ reason }] });
});
