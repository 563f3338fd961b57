// @suite long
/** Accounts that objects declare: what the ledger, the Secret and `kubectl` show of them. */
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { keyText } from '../../src/books/accounts/key-text.ts';
import { systemClock } from '../../src/process/clock.ts';
import { type DeclaredAccounts, startDeclaredAccounts } from './support/declared-accounts.ts';
import { kubectl } from './support/kubectl.ts';

const kubernetes = inject('kubernetes');
let accounts: DeclaredAccounts;
let namespace: DeclaredAccounts['namespace'];
let cluster: DeclaredAccounts['cluster'];
let ledger: DeclaredAccounts['ledger'];
let replica: DeclaredAccounts['replica'];
let offsetMs: number;

beforeEach(async () => {
  offsetMs = 0;
  accounts = await startDeclaredAccounts(kubernetes, () => offsetMs);
  ({ namespace, cluster, ledger, replica } = accounts);
});
afterEach(() => accounts.close());

const polling = { interval: 50 };
type Plural = 'workspaces' | 'apikeys' | 'credits';

async function until(plural: Plural, name: string, type: string, says: string | RegExp): Promise<void> {
  await expect
    .poll(() => cluster.condition(plural, name, type), polling)
    .toMatch(typeof says === 'string' ? new RegExp(`^${RegExp.escape(says)}$`) : says);
}
async function untilEvent(event: string): Promise<void> {
  await expect.poll(cluster.events, polling).toContain(event);
}
async function untilGone(plural: Plural, name: string): Promise<void> {
  await expect.poll(() => cluster.exists(plural, name), polling).toBe(false);
}
const statusOf = async (plural: Plural, name: string) => (await cluster.get(plural, name)).status ?? {};

async function makeTeam(): Promise<string> {
  await cluster.workspace('search-team', { maxInFlight: 64, labels: { team: 'search' } });
  await cluster.apiKey('search-prod', 'search-team', { budget: { usd: '200', period: 'Month' }, models: ['qwen/*'] });
  await until('workspaces', 'search-team', 'Ready', 'True Ready');
  await until('apikeys', 'search-prod', 'Ready', 'True Ready');
  return (await cluster.secretText('search-prod')) ?? '';
}

test('a Workspace, an ApiKey and a Credit become an account whose key works, and say so', async () => {
  await cluster.credit('order-8', 'search-team', { usd: '25', note: 'order 8' });
  await cluster.apiKey('search-prod', 'search-team', { budget: { usd: '200', period: 'Month' }, models: ['qwen/*'] });
  await until(
    'apikeys',
    'search-prod',
    'Accepted',
    `False WorkspaceNotFound: spec.workspace: expected a Workspace in namespace "${namespace}", there is none named "search-team"`,
  );
  await untilEvent('Warning WorkspaceNotFound ApiKey/search-prod');
  const text = await makeTeam();
  await until('credits', 'order-8', 'Booked', /^True Booked: 25 USD as credit_[0-9a-f]{20}$/);
  await until('apikeys', 'search-prod', 'WithinBudget', 'True WithinBudget');

  const workspace = await ledger.accounts.findWorkspace('search-team');
  expect(workspace).toMatchObject({ balance: 25n * 10n ** 12n, maxInFlight: 64, labels: { team: 'search' } });
  const credential = await ledger.accounts.findCredential(text, systemClock.now());
  expect(credential?.key).toMatchObject({ workspaceId: workspace.id, status: 'active', models: ['qwen/*'] });
  expect(await statusOf('apikeys', 'search-prod')).toMatchObject({
    id: credential?.key.id,
    prefix: text.slice(0, 12),
    observedGeneration: 1,
  });
  await cluster.touch('workspaces', 'search-team', 'now');
  await expect
    .poll(() => statusOf('workspaces', 'search-team'), polling)
    .toMatchObject({ id: workspace.id, ledgerName: 'search-team', balance: '25.00', spentThisMonth: '0.00', keys: 1 });
  for (const event of ['Created Workspace/search-team', 'Created ApiKey/search-prod', 'Booked Credit/order-8']) {
    await untilEvent(`Normal ${event}`);
  }

  const get = async (...what: readonly string[]) =>
    (await kubectl(kubernetes, ['-n', namespace, 'get', ...what])).stdout;
  expect(await get('workspaces')).toMatch(
    /NAME +STATUS +BALANCE +MONTH +KEYS +READY +AGE\nsearch-team +Active +25\.00 +0\.00 +1 +True/,
  );
  expect(await get('apikeys')).toMatch(
    /NAME +WORKSPACE +PREFIX +BUDGET +PERIOD +READY +USED +AGE\nsearch-prod +search-team +sk-weir-\w{4} +200 +Month +True/,
  );
  expect(await get('credits')).toMatch(
    /NAME +WORKSPACE +USD +BOOKED +ID +NOTE +AGE\norder-8 +search-team +25 +True +credit_\w+ +order 8/,
  );

  const audit = await ledger.accounts.listAudit({}, 100);
  expect(audit.map(({ action, actor }) => `${actor.kind} ${actor.name}: ${action}`).toReversed()).toEqual([
    `controller Workspace ${namespace}/search-team generation 1: workspace.create`,
    `controller Workspace ${namespace}/search-team generation 1: workspace.labels`,
    expect.stringMatching(/^controller (ApiKey|Credit) .* generation 1: (key.create|workspace.credit)$/),
    expect.stringMatching(/^controller (ApiKey|Credit) .* generation 1: (key.create|workspace.credit)$/),
  ]);
  const shown = JSON.stringify([await cluster.list('apikeys'), await cluster.storedEvents(), audit, replica.log()]);
  expect(shown).not.toContain(text.slice(12));
});

test('a deleted ApiKey is revoked, and a Workspace waits for its keys', async () => {
  const text = await makeTeam();
  await cluster.remove('workspaces', 'search-team');
  await until(
    'workspaces',
    'search-team',
    'Ready',
    /^False HasKeys: cannot be deleted while it has a key that is not revoked/,
  );
  await untilEvent('Warning DeletionRefused Workspace/search-team');
  expect(await ledger.stateOf(text)).toBe('active');
  await cluster.remove('apikeys', 'search-prod');
  await expect.poll(() => ledger.stateOf(text), { interval: 10 }).toBe('revoked');
  await untilGone('apikeys', 'search-prod');
  await untilGone('workspaces', 'search-team');
  await untilEvent('Normal Revoked ApiKey/search-prod');
  await untilEvent('Normal Deleted Workspace/search-team');
});

test('a Workspace that is made again has its money, unless its name was erased', async () => {
  await cluster.workspace('search-team');
  await cluster.credit('order-8', 'search-team', { usd: '25', note: 'order 8' });
  await until('credits', 'order-8', 'Booked', /^True/);
  const { id } = await ledger.accounts.findWorkspace('search-team');
  await cluster.remove('workspaces', 'search-team');
  await untilGone('workspaces', 'search-team');
  expect(await ledger.accounts.findWorkspace('search-team')).toMatchObject({ id, status: 'suspended' });
  await cluster.workspace('search-team');
  await until('workspaces', 'search-team', 'Ready', 'True Ready');
  expect(await ledger.accounts.findWorkspace('search-team')).toMatchObject({ id, balance: 25n * 10n ** 12n });
  await cluster.merge('workspaces', 'search-team', { metadata: { annotations: { 'weir.dev/erase-name': 'true' } } });
  await cluster.remove('workspaces', 'search-team');
  await untilGone('workspaces', 'search-team');
  await cluster.workspace('search-team');
  await until('workspaces', 'search-team', 'Ready', 'True Ready');
  const fresh = await ledger.accounts.findWorkspace('search-team');
  expect(fresh).toMatchObject({ balance: 0n });
  expect(fresh.id).not.toBe(id);
  expect(await ledger.accounts.findWorkspace(id)).toMatchObject({ balance: 25n * 10n ** 12n });
});

test('a workspace made by hand keeps its name', async () => {
  await ledger.accounts.createWorkspace(
    { name: 'search-team', credit: 0n, maxInFlight: 1 },
    { actor: { kind: 'command-line', name: 'test' }, now: systemClock.now() },
  );
  await cluster.workspace('search-team');
  await until(
    'workspaces',
    'search-team',
    'Accepted',
    /^False NameTaken: metadata\.name: There is already a workspace named "search-team"/,
  );
  await untilEvent('Warning NameTaken Workspace/search-team');
});

test('a Credit is booked once, whatever becomes of its object', async () => {
  await cluster.workspace('search-team');
  await cluster.credit('order-8', 'search-team', { usd: '25', note: 'order 8' });
  await until('credits', 'order-8', 'Booked', /^True/);
  const { id } = await statusOf('credits', 'order-8');
  await cluster.remove('credits', 'order-8');
  await untilGone('credits', 'order-8');
  await untilEvent('Warning StaysBooked Credit/order-8');

  await cluster.credit('order-8', 'search-team', { usd: '25', note: 'order 8' });
  await until('credits', 'order-8', 'Booked', /^True/);
  expect(await statusOf('credits', 'order-8')).toMatchObject({ id });
  await cluster.credit('prefix-order-8', 'search-team', { usd: '25', note: 'order 8' });
  await until('credits', 'prefix-order-8', 'Booked', /^False BookedAsAnother: spec\.note: .* for Credit "order-8"/);
  await cluster.remove('credits', 'order-8');
  await untilGone('credits', 'order-8');
  await cluster.credit('order-8', 'search-team', { usd: '250', note: 'order 8' });
  await until(
    'credits',
    'order-8',
    'Accepted',
    /^False BookedOtherwise: .*25 USD for search-team, note "order 8"\. That stays/,
  );
  expect(await ledger.balanceOf('search-team')).toBe(25n * 10n ** 12n);
  await cluster.credit('too-much', 'search-team', { usd: '-30', note: 'refund' });
  await until(
    'credits',
    'too-much',
    'Booked',
    /^False Refused: spec\.usd: A correction of -\$30 is more than the books allow/,
  );
  await cluster.credit('refund', 'search-team', { usd: '-5', note: 'refund' });
  await until('credits', 'refund', 'Booked', /^True/);
  expect(await ledger.balanceOf('search-team')).toBe(20n * 10n ** 12n);
});

const ownKey = (byte: number): string => keyText(new Uint8Array(32).fill(byte));

test('a key of one’s own is taken from its Secret, and a bad one is refused with the reason', async () => {
  await cluster.workspace('search-team');
  await cluster.secret('own', { key: ownKey(1), other: 'stays' });
  await cluster.apiKey('own', 'search-team', { rotation: { everyDays: 1, overlapHours: 1 } });
  await until(
    'apikeys',
    'own',
    'Ready',
    'True Ready: spec.rotation: the Secret is not Weir’s, so Weir does not change it',
  );
  expect(await ledger.stateOf(ownKey(1))).toBe('active');

  await cluster.secret('malformed', { key: `${ownKey(2)}x` });
  await cluster.apiKey('malformed', 'search-team');
  await until('apikeys', 'malformed', 'Ready', /^False KeyMalformed: spec\.secretRef: expected a well-formed key/);
  await cluster.secret('empty', { password: 'x' });
  await cluster.apiKey('empty', 'search-team');
  await until('apikeys', 'empty', 'Ready', /^False SecretNotUsable: .*entry "key" of Secret "empty"/);
  await cluster.apiKey('copy', 'search-team', { secretRef: { name: 'own' } });
  await until('apikeys', 'copy', 'Ready', /^False KeyTaken/);

  // Its owner replaces it. The key before ends after the overlap.
  await cluster.secret('own', { key: ownKey(3), other: 'stays' });
  await cluster.touch('apikeys', 'own', 'replaced');
  await expect.poll(() => ledger.stateOf(ownKey(3)), polling).toBe('active');
  expect(await ledger.stateOf(ownKey(1))).toBe('active');
  await expect
    .poll(() => statusOf('apikeys', 'own'), polling)
    .toHaveProperty('previous.prefix', ownKey(1).slice(0, 12));
  await cluster.secret('own', { key: ownKey(1), other: 'stays' });
  await cluster.touch('apikeys', 'own', 'put back');
  await until('apikeys', 'own', 'Ready', /^False KeyRevoked/);
  expect(await cluster.secretText('own', 'other')).toBe('stays');
});

test('a rotation gives the Secret another key, and the one before works for the overlap', async () => {
  await cluster.workspace('search-team');
  await cluster.apiKey('search-prod', 'search-team', {
    budget: { usd: '200', period: 'Month' },
    rotation: { everyDays: 90, overlapHours: 24 },
  });
  await until('apikeys', 'search-prod', 'Ready', 'True Ready');
  const before = (await cluster.secretText('search-prod')) ?? '';
  const { id } = await statusOf('apikeys', 'search-prod');
  offsetMs = 91 * 86_400_000;
  await cluster.touch('apikeys', 'search-prod', 'due');
  // Whatever the Secret has at a moment, works at that moment.
  const states = new Set<string | undefined>();
  const textNow = async (): Promise<string | undefined> => {
    const text = await cluster.secretText('search-prod');
    states.add(await ledger.stateOf(text));
    return text;
  };
  await expect.poll(textNow, { interval: 1 }).not.toBe(before);
  expect([...states]).toEqual(['active']);
  const after = await cluster.secretText('search-prod');
  await untilEvent('Normal Rotated ApiKey/search-prod');
  await expect
    .poll(() => statusOf('apikeys', 'search-prod'), polling)
    .toMatchObject({ id, prefix: after?.slice(0, 12), previous: { prefix: before.slice(0, 12) } });
  expect(await ledger.stateOf(before)).toBe('active');
  expect(await ledger.stateOf(after)).toBe('active');
  offsetMs += 25 * 3_600_000;
  await cluster.touch('apikeys', 'search-prod', 'over');
  await expect.poll(() => ledger.stateOf(before), polling).toBe('revoked');
  expect(await ledger.stateOf(after)).toBe('active');
  expect(await cluster.secretText('search-prod')).toBe(after);
});

test('a Secret that is gone comes back with another key, and the one before is revoked', async () => {
  const text = await makeTeam();
  await cluster.remove('secrets', 'search-prod');
  await cluster.touch('apikeys', 'search-prod', 'gone');
  await expect.poll(() => cluster.secretText('search-prod'), polling).toMatch(/^sk-weir-/);
  await expect.poll(() => ledger.stateOf(text), polling).toBe('revoked');
  expect(await ledger.stateOf(await cluster.secretText('search-prod'))).toBe('active');
  await untilEvent('Normal KeyChanged ApiKey/search-prod');
});

test('a status that is set in an emergency holds against the object, which says so, until the object is changed', async () => {
  await makeTeam();
  const by = { actor: { kind: 'admin-token', name: 'test' }, now: systemClock.now() } as const;
  const { id } = await statusOf('apikeys', 'search-prod');
  const keyStatus = async () => (await ledger.accounts.findKey(String(id))).status;
  await ledger.accounts.changeKey(String(id), { status: 'suspended', override: true }, by);
  await cluster.touch('apikeys', 'search-prod', 'overridden');
  await until('apikeys', 'search-prod', 'Ready', /^False Overridden: spec\.status: overridden by hand.*get 403$/);
  await untilEvent('Warning Overridden ApiKey/search-prod');
  expect(await keyStatus()).toBe('suspended');
  await cluster.merge('apikeys', 'search-prod', { spec: { status: 'Suspended' } });
  await until('apikeys', 'search-prod', 'Ready', /^True Suspended/);
  await cluster.merge('apikeys', 'search-prod', { spec: { status: 'Active' } });
  await until('apikeys', 'search-prod', 'Ready', 'True Ready');
  expect(await keyStatus()).toBe('active');
});

test('what an object declares is changed only there, unless it does not manage it', async () => {
  await makeTeam();
  const by = { actor: { kind: 'admin-token', name: 'test' }, now: systemClock.now() } as const;
  const { id } = await statusOf('apikeys', 'search-prod');
  const suspend = () => ledger.accounts.changeKey(String(id), { status: 'suspended' }, by);
  await expect(suspend()).rejects.toMatchObject({
    code: 'declared_by_object',
    message: expect.stringContaining(`ApiKey "search-prod" in namespace "${namespace}" declares this`),
  });
  const limit = () => ledger.accounts.changeWorkspace('search-team', { maxInFlight: 1 }, by);
  await expect(limit()).rejects.toMatchObject({ code: 'declared_by_object' });
  for (const [plural, name] of [
    ['apikeys', 'search-prod'],
    ['workspaces', 'search-team'],
  ] as const) {
    await cluster.merge(plural, name, { metadata: { annotations: { 'weir.dev/managed': 'false' } } });
  }
  await expect
    .poll(
      () =>
        suspend().then(
          ({ status }) => status,
          () => 'refused',
        ),
      polling,
    )
    .toBe('suspended');
  await expect
    .poll(
      () =>
        limit().then(
          ({ maxInFlight }) => maxInFlight,
          () => 0,
        ),
      polling,
    )
    .toBe(1);
  await cluster.touch('apikeys', 'search-prod', 'after');
  await cluster.touch('workspaces', 'search-team', 'after');
  await expect.poll(() => statusOf('workspaces', 'search-team'), polling).toMatchObject({ keys: 1 });
  expect(await ledger.accounts.findWorkspace('search-team')).toMatchObject({ maxInFlight: 1 });
});
