// @suite long
/** Objects of a tenant who means harm: their names, their Secrets and the status that strangers write. */
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { keyText } from '../../src/books/accounts/key-text.ts';
import { type DeclaredAccounts, startDeclaredAccounts } from './support/declared-accounts.ts';
import { kubeRequest } from './support/request.ts';

const kubernetes = inject('kubernetes');
const polling = { interval: 50 };
let accounts: DeclaredAccounts;
let cluster: DeclaredAccounts['cluster'];
let ledger: DeclaredAccounts['ledger'];

beforeEach(async () => {
  accounts = await startDeclaredAccounts(kubernetes, () => 0);
  ({ cluster, ledger } = accounts);
  await cluster.workspace('search');
});
afterEach(() => accounts.close());

async function until(name: string, says: RegExp): Promise<void> {
  await expect.poll(() => cluster.condition('apikeys', name, 'Ready'), polling).toMatch(says);
}

/** Makes a Secret as the API server takes it, and returns the server's status. */
async function makeSecret(secret: { readonly metadata: object; readonly [field: string]: unknown }): Promise<void> {
  const path = `/api/v1/namespaces/${accounts.namespace}/secrets`;
  const { status, body } = await kubeRequest(kubernetes, 'POST', path, { body: secret });
  expect(status, JSON.stringify(body)).toBe(201);
}

/** Keys of the workspace in the ledger, revoked ones included. */
const keysOf = async (): Promise<number> =>
  (await ledger.accounts.listKeys(await ledger.accounts.findWorkspace('search'))).length;

test('a name whose label or Event would be refused hinders nothing', async () => {
  // At the place where a label is cut is a sign with which no label ends, and so at that of an Event's name.
  const name = `${'a'.repeat(62)}-${'b'.repeat(136)}.${'c'.repeat(53)}`;
  expect(name).toHaveLength(253);
  await cluster.apiKey(name, 'search');
  await until(name, /^True Ready/);
  expect(await ledger.stateOf(await cluster.secretText(name))).toBe('active');
  await expect.poll(cluster.events, polling).toContain(`Normal Created ApiKey/${name}`);
  expect(accounts.replica.log().filter((line) => line.includes('could not be'))).toEqual([]);
});

test('a Secret that cannot be written is named, and makes one key in the ledger however often it is tried', async () => {
  const apiKey = (await cluster.apiKey('locked', 'search', { secretRef: { name: 'later' } })) as {
    readonly metadata: { readonly uid: string };
  };
  await until('locked', /^True Ready/);
  const { uid } = apiKey.metadata;
  await cluster.remove('secrets', 'later');
  const owner = { apiVersion: 'weir.dev/v1alpha1', kind: 'ApiKey', name: 'locked', uid, controller: true };
  await makeSecret({ metadata: { name: 'later', ownerReferences: [owner] }, immutable: true });
  const before = await keysOf();
  for (const perSecond of [1, 2, 3, 4]) {
    await cluster.apiKey('locked', 'search', { secretRef: { name: 'later' }, rate: { perSecond } });
    await until('locked', /^False SecretNotWritten: spec\.secretRef: .*immutable/);
  }
  expect(await keysOf()).toBe(before + 1);
});

test('a Secret of another kind of ApiKey is not Weir’s', async () => {
  const owner = { apiVersion: 'other.example/v1', kind: 'ApiKey', name: 'mine', uid: 'u-1', controller: true };
  await makeSecret({ metadata: { name: 'mine', ownerReferences: [owner] }, stringData: { other: 'stays' } });
  await cluster.apiKey('mine', 'search');
  await until('mine', /^False SecretNotUsable/);
  expect(await cluster.secretText('mine')).toBe('');
  // The twin: owned by an ApiKey of Weir, it would have been written.
  const secret = { ownerReferences: [{ ...owner, apiVersion: 'weir.dev/v1alpha1' }] };
  await cluster.merge('secrets', 'mine', { metadata: secret });
  await cluster.touch('apikeys', 'mine', 'again');
  await until('mine', /^True Ready/);
  expect(await cluster.secretText('mine')).toMatch(/^sk-weir-/);
});

test('a status that a stranger wrote is believed in nothing', async () => {
  const others = keyText(new Uint8Array(32).fill(9));
  await cluster.secret('bad', { key: `${others}x` });
  await cluster.apiKey('bad', 'search');
  await until('bad', /^False KeyMalformed/);
  const { generation } = (await cluster.get('apikeys', 'bad')).metadata;
  const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '', observedGeneration: generation };
  const forged = {
    id: 'key_00000000000000000000',
    prefix: others.slice(0, 12),
    conditions: [{ ...ready, lastTransitionTime: '2000-01-01T00:00:00Z' }],
    observedGeneration: 7_000,
  };
  const path = `/apis/weir.dev/v1alpha1/namespaces/${accounts.namespace}/apikeys/bad/status`;
  const written = await kubeRequest(kubernetes, 'PATCH', path, {
    body: { status: forged },
    contentType: 'application/merge-patch+json',
  });
  expect(written.status).toBe(200);
  await until('bad', /^True Ready/);
  await cluster.touch('apikeys', 'bad', 'again');
  await until('bad', /^False KeyMalformed/);
  const { status } = await cluster.get('apikeys', 'bad');
  expect(status).not.toHaveProperty('id');
  expect(status).not.toHaveProperty('prefix');
  expect(status?.observedGeneration).toBe(generation);
  expect(await ledger.stateOf(others)).toBeUndefined();
});

test('an object that a stranger’s finalizer keeps for ever is released, and its neighbours do not wait', async () => {
  await cluster.apiKey('kept', 'search');
  await until('kept', /^True Ready/);
  const text = await cluster.secretText('kept');
  const { finalizers = [] } = (await cluster.get('apikeys', 'kept')).metadata;
  await cluster.merge('apikeys', 'kept', { metadata: { finalizers: [...finalizers, 'stranger.example/never'] } });
  await cluster.remove('apikeys', 'kept');
  await expect.poll(() => ledger.stateOf(text), polling).toBe('revoked');
  await expect
    .poll(async () => (await cluster.get('apikeys', 'kept')).metadata.finalizers, polling)
    .toEqual(['stranger.example/never']);
  await cluster.apiKey('neighbour', 'search');
  await until('neighbour', /^True Ready/);
});

test('an object that flips all the time writes few rows, and has its last version in the end', async () => {
  await expect.poll(() => cluster.condition('workspaces', 'search', 'Ready'), polling).toBe('True Ready');
  const flips = 200;
  for (let flip = 1; flip <= flips; flip += 1) await cluster.workspace('search', { maxInFlight: flip });
  const maxInFlight = async () => (await ledger.accounts.findWorkspace('search')).maxInFlight;
  await expect.poll(maxInFlight, polling).toBe(flips);
  const rows = (await ledger.accounts.listAudit({}, 1_000)).length;
  console.log(`${flips} versions of a Workspace are ${rows} rows of the audit trail`);
  expect(rows).toBeLessThan(flips / 2);
});
