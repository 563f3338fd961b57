// @suite long
/** What objects that declare accounts report as Events when their account changes or its budget is spent. */
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { systemClock } from '../../src/process/clock.ts';
import { databaseLocation } from '../../src/books/databases/database-location.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { settleBatch } from '../../src/books/ledger/settle-batch.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';
import { type DeclaredAccounts, startDeclaredAccounts } from './support/declared-accounts.ts';

const kubernetes = inject('kubernetes');
const usd = 10n ** 12n;
const dayMs = 86_400_000;
let accounts: DeclaredAccounts;
let cluster: DeclaredAccounts['cluster'];
let ledger: DeclaredAccounts['ledger'];
let offsetMs: number;

beforeEach(async () => {
  offsetMs = 0;
  accounts = await startDeclaredAccounts(kubernetes, () => offsetMs);
  ({ cluster, ledger } = accounts);
});
afterEach(() => accounts.close());

const polling = { interval: 50 };
type Plural = 'workspaces' | 'apikeys';

async function until(plural: Plural, name: string, type: string, says: RegExp): Promise<void> {
  await expect.poll(() => cluster.condition(plural, name, type), polling).toMatch(says);
}
async function untilEvent(event: string): Promise<void> {
  await expect.poll(cluster.events, polling).toContain(event);
}

async function makeTeam(spec: Readonly<Record<string, unknown>> = {}): Promise<string> {
  await cluster.workspace('search-team', { maxInFlight: 64 });
  await cluster.apiKey('search-prod', 'search-team', spec);
  await until('apikeys', 'search-prod', 'Ready', /^True Ready$/);
  return (await cluster.secretText('search-prod')) ?? '';
}

test('a changed object changes its account, and a suspension, its end and an expiry are Events', async () => {
  const text = await makeTeam();
  expect(await ledger.accounts.findWorkspace('search-team')).toMatchObject({ maxInFlight: 64 });
  await cluster.apiKey('search-prod', 'search-team', {
    ...{ status: 'Suspended', rate: { perSecond: 5, burst: 6 } },
    budget: { usd: '100', period: 'Day', thresholds: [90, 10] },
  });
  await until('apikeys', 'search-prod', 'Ready', /^True Suspended: requests with the key get 403$/);
  expect(await ledger.stateOf(text)).toBe('suspended');
  const { key } = (await ledger.accounts.findCredential(text, systemClock.now())) ?? {};
  expect(key).toMatchObject({ rate: 5, burst: 6, budget: { limit: 100n * usd, period: 'day' } });
  expect((await ledger.accounts.ownThresholds()).get(key?.id ?? '')).toEqual([10, 90]);
  await untilEvent('Normal Suspended ApiKey/search-prod');
  await cluster.workspace('search-team', { status: 'Suspended', creditLimit: '500', thresholds: [60] });
  await until('workspaces', 'search-team', 'Ready', /^True Suspended/);
  expect(await ledger.accounts.findWorkspace('search-team')).toMatchObject({
    status: 'suspended',
    creditLimit: 500n * usd,
    maxInFlight: 256,
  });
  const { id } = await ledger.accounts.findWorkspace('search-team');
  expect((await ledger.accounts.ownThresholds()).get(id)).toEqual([60]);
  await untilEvent('Normal Suspended Workspace/search-team');
  await cluster.workspace('search-team', { status: 'Active' });
  await untilEvent('Normal Resumed Workspace/search-team');
  await cluster.apiKey('search-prod', 'search-team', {});
  await untilEvent('Normal Resumed ApiKey/search-prod');
  const resumed = await ledger.accounts.findCredential(text, systemClock.now());
  expect(resumed?.key).toMatchObject({ budget: undefined, status: 'active' });
  await cluster.apiKey('search-prod', 'search-team', { expiresAt: '2026-01-01T00:00:00Z' });
  await until('apikeys', 'search-prod', 'Ready', /^False Expired: spec\.expiresAt/);
  expect(await ledger.stateOf(text)).toBe('expired');
  await untilEvent('Warning Expired ApiKey/search-prod');
});

test('a budget that is spent is an Event, and so is the next period that is spent', async () => {
  const text = await makeTeam({ budget: { usd: '5', period: 'Day' } });
  const { key } = (await ledger.accounts.findCredential(text, systemClock.now())) ?? {};
  const database = await openDatabase(databaseLocation({ data: ledger.data }), { missing: 'refuse', user: 'operator' });
  const spend = (requestId: string, cost: bigint) => {
    const startedAt = systemClock.now() + offsetMs;
    const ids = { workspaceId: key?.workspaceId ?? '', keyId: key?.id ?? '' };
    return settleBatch(database, [sampleOutcome({ ...ids, requestId, cost, startedAt })], startedAt);
  };
  const spentEvents = async (): Promise<number> =>
    (await cluster.storedEvents()).filter(({ reason }) => reason === 'BudgetSpent').length;
  try {
    await spend('one', 5n * usd - 1n);
    await cluster.touch('apikeys', 'search-prod', 'nearly');
    await expect
      .poll(async () => (await cluster.get('apikeys', 'search-prod')).status, polling)
      .toHaveProperty('lastUsedAt');
    await until('apikeys', 'search-prod', 'WithinBudget', /^True WithinBudget$/);
    expect(await spentEvents()).toBe(0);
    await spend('two', 1n);
    await cluster.touch('apikeys', 'search-prod', 'spent');
    await until('apikeys', 'search-prod', 'WithinBudget', /^False BudgetSpent: spec\.budget: 5 USD are spent/);
    await untilEvent('Warning BudgetSpent ApiKey/search-prod');
    offsetMs = dayMs;
    await cluster.touch('apikeys', 'search-prod', 'next day');
    await until('apikeys', 'search-prod', 'WithinBudget', /^True WithinBudget$/);
    await untilEvent('Normal WithinBudget ApiKey/search-prod');
    await spend('three', 5n * usd);
    await cluster.touch('apikeys', 'search-prod', 'spent again');
    await expect.poll(spentEvents, polling).toBe(2);
  } finally {
    await database.close();
  }
});

test('a rotated key is an Event', async () => {
  const before = await makeTeam({ rotation: { everyDays: 90, overlapHours: 24 } });
  await untilEvent('Normal Created ApiKey/search-prod');
  await untilEvent('Normal Created Workspace/search-team');
  offsetMs = 91 * dayMs;
  await cluster.touch('apikeys', 'search-prod', 'due');
  await untilEvent('Normal Rotated ApiKey/search-prod');
  const event = (await cluster.storedEvents()).find(({ reason }) => reason === 'Rotated');
  expect(JSON.stringify(event)).not.toContain(before.slice(12));
});
