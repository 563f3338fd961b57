// @suite long
/** Objects of a tenant who means harm: their names, their Secrets and the status that strangers write. */
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { type DeclaredAccounts, startDeclaredAccounts } from './support/declared-accounts.ts';

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
