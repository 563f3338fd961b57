// @suite both-databases
import { type Kysely, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { parseUsd } from '../../core/money.ts';
import { listBounds } from '../../core/limits.ts';
import type { Schema } from '../databases/schema.ts';
import { endMessages, keepSubscriptions, waitingEvents } from '../outbox/subscriptions.ts';
import { nextMessages } from '../outbox/next-messages.ts';
import { listAlerts, recordReached } from './alerts.ts';
import { listAudit } from './audit.ts';
import { changeKey } from './change-keys.ts';
import { addCredit } from './credits.ts';
import { createKey } from './keys.ts';
import { rotateKey } from './rotate-key.ts';
import { ownThresholds, setKeyThresholds, setWorkspaceThresholds } from './thresholds.ts';
import { setTagBudget } from './tag-budgets.ts';
import { createWorkspace, changeWorkspace } from './workspaces.ts';

const dayMs = 86_400_000;
const subscription = 'alerts';

/** The webhooks that are due, which are then no longer. */
async function claimed(queries: Kysely<Schema>, now: number) {
  const messages = await nextMessages(queries, { subscription, holder: 'test', leaseMs: 1000 }, now);
  await endMessages(queries, { subscription, holder: 'test', accepted: messages, failed: undefined }, now);
  return messages;
}
const countWaiting = async (queries: Kysely<Schema>, now: number): Promise<number> =>
  (await waitingEvents(queries, { name: subscription, maxWaiting: 1e6 }, now)).waiting;

function usd(text: string): bigint {
  const amount = parseUsd(text);
  if (amount === undefined) throw new Error(`${text} is no amount`);
  return amount;
}

/** A workspace with $10, whose key has a budget of $4 a day. */
async function sample() {
  const made = await sampleDatabase('10');
  const { queries, ids, key, settle } = made;
  await keepSubscriptions(queries, [{ name: subscription, kinds: ['message'] }], sampleNow);
  await changeKey(queries, key.id, { budget: { limit: usd('4'), period: 'day' } }, sampleAuthor);
  let requests = 0;
  return {
    ...made,
    spend: async (cost: string, startedAt = sampleNow + 1000, tags?: string) => {
      requests += 1;
      await settle([sampleOutcome({ ...ids, requestId: `req-${requests}`, cost: usd(cost), startedAt, tags })]);
    },
    look: (now = sampleNow + 60_000) => recordReached(queries, now),
    /** Which thresholds were reached, in any order of one look. */
    reached: async () =>
      (await listAlerts(queries, ids.workspaceId, 99)).map(({ kind, percent }) => `${kind} ${percent}`).toSorted(),
  };
}

describe('a threshold', () => {
  it('is recorded once, with an entry of the audit trail and a message', async () => {
    const { queries, ids, spend, look, reached } = await sample();
    await spend('1.999999999999');
    expect(await look()).toBe(0);
    await spend('0.000000000001');
    expect(await look()).toBe(1);
    expect(await look()).toBe(0);
    expect(await reached()).toEqual(['budget 50']);
    const [alert] = await listAlerts(queries, ids.workspaceId, 9);
    const [entry] = await listAudit(queries, {}, 1);
    expect(entry).toMatchObject({
      actor: { kind: 'service', name: 'thresholds' },
      action: 'key.threshold-reached',
      objectId: ids.keyId,
      workspaceName: 'acme',
      before: undefined,
      after: { percent: 50, used: '2', limit: '4', alert: alert?.id },
    });
    const [message] = await claimed(queries, sampleNow + 60_000);
    expect(message).toMatchObject({ id: alert?.id });
    expect(JSON.parse(message?.body ?? '')).toEqual({
      type: 'budget.threshold_reached',
      timestamp: '2026-07-01T00:01:00.000Z',
      data: {
        alert_id: alert?.id,
        workspace_id: ids.workspaceId,
        workspace: 'acme',
        key_id: ids.keyId,
        key_name: null,
        period: 'day',
        period_start: '2026-07-01T00:00:00.000Z',
        threshold_percent: 50,
        used_usd: '2',
        limit_usd: '4',
      },
    });
  });

  it('is recorded with all below it when spending jumps', async () => {
    const { spend, look, reached } = await sample();
    await spend('9.5');
    expect(await look()).toBe(6);
    expect(await reached()).toEqual(['balance 50', 'balance 80', 'balance 95', 'budget 50', 'budget 80', 'budget 95']);
  });

  it('leaves nothing when its transaction breaks off, and is recorded by the next look', async () => {
    const { queries, spend, look, reached } = await sample();
    await spend('2');
    await sql`alter table audit rename to audit_gone`.execute(queries);
    await expect(look()).rejects.toThrow('audit');
    expect(await reached()).toEqual([]);
    await sql`alter table audit_gone rename to audit`.execute(queries);
    expect(await look()).toBe(1);
  });

  it('is without a message where no webhook is set', async () => {
    const { queries, ids, spend } = await sample();
    await spend('2');
    await keepSubscriptions(queries, [], sampleNow + dayMs);
    await recordReached(queries, sampleNow + 60_000);
    expect(await listAlerts(queries, ids.workspaceId, 9)).toMatchObject([{ delivery: 'none' }]);
    expect(await claimed(queries, sampleNow + dayMs)).toEqual([]);
  });
});

describe('the thresholds of a budget', () => {
  it('begin anew with each period', async () => {
    const { spend, look, reached } = await sample();
    await spend('2');
    await look();
    await spend('2', sampleNow + dayMs + 1000);
    expect(await look(sampleNow + dayMs + 60_000)).toBe(1);
    expect(await reached()).toEqual(['budget 50', 'budget 50']);
  });

  it('are reached by a request that is settled right after the end of its period', async () => {
    const { spend, look } = await sample();
    await spend('2', sampleNow + dayMs - 1);
    expect(await look(sampleNow + dayMs + 5 * 60_000)).toBe(1);
  });

  it('are not reached twice when the budget is raised within a period', async () => {
    const { queries, ids, spend, look } = await sample();
    await spend('2');
    expect(await look()).toBe(1);
    await changeKey(queries, ids.keyId, { budget: { limit: usd('6'), period: 'day' } }, sampleAuthor);
    expect(await look()).toBe(0);
    await spend('1');
    expect(await look()).toBe(0);
    await spend('1.8');
    expect(await look()).toBe(1);
  });

  it('are those of the key, also of the key that replaces it', async () => {
    const { queries, ids, spend, look, reached } = await sample();
    await setKeyThresholds(queries, ids.keyId, [100, 10, 10], sampleAuthor);
    const { key } = await rotateKey(queries, ids.keyId, { overlapMs: 1000 }, sampleAuthor);
    expect((await ownThresholds(queries)).get(key.id)).toEqual([10, 100]);
    await spend('3.9');
    await look();
    expect(await reached()).toEqual(['budget 10']);
    await setKeyThresholds(queries, ids.keyId, undefined, sampleAuthor);
    await look();
    expect(await reached()).toEqual(['budget 10', 'budget 50', 'budget 80', 'budget 95']);
  });

  it('that a key has reached are not reported again of the key that replaces it', async () => {
    const { queries, ids, spend, look, reached, settle } = await sample();
    await spend('2.2');
    await look();
    const { key } = await rotateKey(queries, ids.keyId, { overlapMs: 1000 }, sampleAuthor);
    expect(await look()).toBe(0);
    const by = { ...ids, keyId: key.id, requestId: 'req-new', startedAt: sampleNow + 2000 };
    await settle([sampleOutcome({ ...by, cost: usd('1.1') })]);
    await look();
    expect(await reached()).toEqual(['budget 50', 'budget 80']);
  });

  it('are none for a revoked key, and where none are wanted', async () => {
    const { queries, ids, spend, look } = await sample();
    await spend('3.9');
    await setKeyThresholds(queries, ids.keyId, [], sampleAuthor);
    expect(await look()).toBe(0);
    await setKeyThresholds(queries, ids.keyId, undefined, sampleAuthor);
    await changeKey(queries, ids.keyId, { status: 'revoked' }, sampleAuthor);
    expect(await look()).toBe(0);
  });

  it.each([[[0]], [[101]], [[1.5]], [Array.from({ length: 11 }, (_, index) => index + 1)]])(
    'refuse %j',
    async (percents) => {
      const { queries, ids } = await sample();
      await expect(setKeyThresholds(queries, ids.keyId, percents, sampleAuthor)).rejects.toThrow(
        'Thresholds are at most',
      );
    },
  );
});

describe('the thresholds of the budget of a tag', () => {
  const tag = 'team=search';

  /** A budget of $4 a day for the tag, and no alerts about the key. */
  async function tagged(period: 'day' | 'month' = 'day') {
    const made = await sample();
    await setKeyThresholds(made.queries, made.ids.keyId, [], sampleAuthor);
    await setWorkspaceThresholds(made.queries, 'acme', [], sampleAuthor);
    const set = (given: Partial<Parameters<typeof setTagBudget>[2]>) =>
      setTagBudget(made.queries, 'acme', { tag, budget: { limit: usd('4'), period }, ...given }, sampleAuthor);
    await set({});
    return { ...made, set };
  }

  it('are reached by requests with the tag, each with an entry of the audit trail and a message', async () => {
    const { queries, ids, spend, look } = await tagged();
    await spend('3', sampleNow + 1000, 'team=ads');
    await spend('1', sampleNow + 1000, 'app=crawler,team=search');
    await spend('0.999999999999', sampleNow + 1000, tag);
    expect(await look()).toBe(0);
    await spend('0.000000000001', sampleNow + 1000, tag);
    expect(await look()).toBe(1);
    expect(await look()).toBe(0);
    const [alert] = await listAlerts(queries, ids.workspaceId, 9);
    expect(alert).toMatchObject({ kind: 'tag', tag, keyId: undefined, percent: 50, used: '2', limit: '4' });
    const [entry] = await listAudit(queries, {}, 1);
    expect(entry).toMatchObject({
      actor: { kind: 'service', name: 'thresholds' },
      action: 'workspace.tag-threshold-reached',
      objectId: ids.workspaceId,
      after: { tag, percent: 50, used: '2', limit: '4', alert: alert?.id },
    });
    const [message] = await claimed(queries, sampleNow + 60_000);
    expect(JSON.parse(message?.body ?? '')).toEqual({
      type: 'tag.threshold_reached',
      timestamp: '2026-07-01T00:01:00.000Z',
      data: {
        ...{ alert_id: alert?.id, workspace_id: ids.workspaceId, workspace: 'acme', tag },
        ...{ period: 'day', period_start: '2026-07-01T00:00:00.000Z' },
        ...{ threshold_percent: 50, used_usd: '2', limit_usd: '4' },
      },
    });
  });

  it('are reached once a period, also by what is settled right after its end', async () => {
    const { spend, look, set, reached } = await tagged();
    await spend('2', sampleNow + dayMs - 1, tag);
    expect(await look(sampleNow + dayMs + 5 * 60_000)).toBe(1);
    await set({ budget: { limit: usd('3.9'), period: 'day' } });
    expect(await look(sampleNow + dayMs + 5 * 60_000)).toBe(0);
    await spend('2', sampleNow + dayMs + 1000, tag);
    expect(await look(sampleNow + dayMs + 60_000)).toBe(1);
    expect(await reached()).toEqual(['tag 50', 'tag 50']);
  });

  it('count all days of a month', async () => {
    const { spend, look, reached } = await tagged('month');
    await spend('1', sampleNow, tag);
    await spend('2.9', sampleNow + 9 * dayMs, tag);
    expect(await look(sampleNow + 9 * dayMs + 60_000)).toBe(3);
    expect(await reached()).toEqual(['tag 50', 'tag 80', 'tag 95']);
  });

  it('are its own if it has some, and go with the budget', async () => {
    const { queries, spend, look, set, reached } = await tagged();
    expect(await set({ thresholds: [100, 10] })).toMatchObject([{ tag, thresholds: [10, 100] }]);
    // Another budget leaves them as they are.
    expect(await set({ budget: { limit: usd('4.1'), period: 'day' } })).toMatchObject([{ thresholds: [10, 100] }]);
    await spend('3.9', sampleNow + 1000, tag);
    await look();
    expect(await reached()).toEqual(['tag 10']);
    expect(await set({ thresholds: 'default' })).toMatchObject([{ thresholds: [50, 80, 95] }]);
    await set({ thresholds: [] });
    expect(await look()).toBe(0);
    await set({ budget: undefined });
    expect(await set({})).toMatchObject([{ thresholds: [50, 80, 95] }]);
    await look();
    expect(await reached()).toEqual(['tag 10', 'tag 50', 'tag 80', 'tag 95']);
    const entries = await listAudit(queries, { action: 'workspace.tag-budget' }, 9);
    expect(entries.map(({ before, after }) => [before?.['thresholds'], after['thresholds']])).toEqual([
      ...[
        [undefined, undefined],
        [[], 'default'],
        ['default', []],
        [[10, 100], 'default'],
      ],
      ...[
        [
          [10, 100],
          [10, 100],
        ],
        ['default', [10, 100]],
        [undefined, undefined],
      ],
    ]);
    await expect(set({ thresholds: [0] })).rejects.toThrow('Thresholds are at most');
  });
});

describe('the thresholds of a balance', () => {
  it('count from the balance after the last credit, and begin anew with a credit', async () => {
    const { queries, ids, spend, look, reached } = await sample();
    await setKeyThresholds(queries, ids.keyId, [], sampleAuthor);
    await spend('5');
    expect(await look()).toBe(1);
    // 5 + 3 = 8: half of that is 4.
    await addCredit(queries, 'acme', { amount: usd('3'), note: undefined }, sampleAuthor);
    await spend('3.9');
    expect(await look()).toBe(0);
    await spend('0.1');
    expect(await look()).toBe(1);
    expect(await reached()).toEqual(['balance 50', 'balance 50']);
  });

  it('do not count a correction as spent', async () => {
    const { queries, ids, spend, look } = await sample();
    await setKeyThresholds(queries, ids.keyId, [], sampleAuthor);
    await addCredit(queries, 'acme', { amount: -usd('6'), note: 'refund' }, sampleAuthor);
    expect(await look()).toBe(0);
    await spend('2');
    expect(await look()).toBe(1);
  });

  it('count the credit limit as a part of what can be spent', async () => {
    const { queries, ids, spend, look } = await sample();
    await setKeyThresholds(queries, ids.keyId, [], sampleAuthor);
    await setWorkspaceThresholds(queries, 'acme', [60], sampleAuthor);
    await changeWorkspace(queries, 'acme', { creditLimit: usd('10') }, sampleAuthor);
    await spend('11');
    expect(await look()).toBe(0);
    await spend('1');
    expect(await look()).toBe(1);
  });
});

describe('the messages of a workspace', () => {
  const hourMs = 3_600_000;
  const collectedAt = hourMs + 60_000;
  const max = listBounds.maxAlertMessages;
  const percents = Array.from({ length: 10 }, (_, index) => index + 1);

  /** Keys that reach ten thresholds each, and cost nearly nothing. */
  async function manyThresholds(keys: number) {
    const made = await sampleDatabase('10');
    await keepSubscriptions(made.queries, [{ name: subscription, kinds: ['message'] }], sampleNow);
    const { queries, settle, workspace } = made;
    await setWorkspaceThresholds(queries, 'acme', [], sampleAuthor);
    for (let index = 0; index < keys; index += 1) {
      const { key } = await createKey(
        queries,
        { workspace: 'acme', rate: 1, burst: 1, budget: { limit: 100n, period: 'day' } },
        sampleAuthor,
      );
      await setKeyThresholds(queries, key.id, percents, sampleAuthor);
      const ids = { workspaceId: workspace.id, keyId: key.id, requestId: `many-${index}` };
      await settle([sampleOutcome({ ...ids, cost: 10n, startedAt: sampleNow })]);
    }
    return made;
  }

  it('are bounded in a day: further alerts are counted in one message for each hour', async () => {
    const { queries, workspace } = await manyThresholds(4);
    expect(await recordReached(queries, sampleNow)).toBe(40);
    // Every alert is recorded, and none but the bound waits for the receiver.
    const alerts = await listAlerts(queries, workspace.id, 99);
    expect(alerts).toHaveLength(40);
    expect(alerts.filter(({ delivery }) => delivery === 'waiting')).toHaveLength(max);
    expect(await countWaiting(queries, sampleNow)).toBe(max);
    expect(await claimed(queries, sampleNow + hourMs)).toHaveLength(max);
    expect(await countWaiting(queries, sampleNow + collectedAt)).toBe(1);
    const collected = await claimed(queries, sampleNow + collectedAt);
    expect(collected.map(({ body }) => JSON.parse(body))).toEqual([
      {
        type: 'alerts.collected',
        timestamp: '2026-07-01T01:00:00.000Z',
        data: {
          ...{ alert_id: expect.stringMatching(/^alert_/), workspace_id: workspace.id, workspace: 'acme' },
          ...{ alerts: 40 - max, since: '2026-07-01T00:00:00.000Z' },
        },
      },
    ]);
  });

  it.each([
    ['at the bound are all sent', 2],
    ['of one key more are the bound and a collected one', 3],
  ])('%s', async (_, keys) => {
    const { queries } = await manyThresholds(keys);
    await recordReached(queries, sampleNow);
    const sent = [
      ...(await claimed(queries, sampleNow + hourMs)),
      ...(await claimed(queries, sampleNow + collectedAt)),
    ];
    expect(sent).toHaveLength(Math.min(keys * 10, max) + (keys * 10 > max ? 1 : 0));
  });

  it.each([
    ['a day', dayMs],
    ['a month', 31 * dayMs],
  ])('are not used up by those of a clock that was %s ahead', async (_, aheadMs) => {
    const { queries, workspace } = await manyThresholds(2);
    await queries.updateTable('keys').set({ budget_period: 'total' }).execute();
    expect(await recordReached(queries, sampleNow + aheadMs)).toBe(max);
    await setWorkspaceThresholds(queries, 'acme', [1], sampleAuthor);
    await queries.updateTable('workspaces').set({ balance: 0n }).execute();
    await recordReached(queries, sampleNow);
    const alerts = await listAlerts(queries, workspace.id, 99);
    expect(alerts.find(({ kind }) => kind === 'balance')).toMatchObject({ delivery: 'waiting' });
  });

  it('are collected again when the clock is set back into an hour whose message was sent', async () => {
    const { queries, settle, key, ids } = await manyThresholds(3);
    await recordReached(queries, sampleNow + hourMs - 1);
    await claimed(queries, sampleNow + collectedAt);
    await changeKey(queries, key.id, { budget: { limit: 100n, period: 'total' } }, sampleAuthor);
    await settle([sampleOutcome({ ...ids, requestId: 'late', cost: 100n, startedAt: sampleNow })]);
    expect(await recordReached(queries, sampleNow + hourMs - 2)).toBeGreaterThan(0);
    expect(await recordReached(queries, sampleNow + hourMs - 1)).toBe(0);
    const again = await claimed(queries, sampleNow + collectedAt + 1);
    expect(again.map(({ body }) => JSON.parse(body))).toMatchObject([
      { type: 'alerts.collected', data: { alerts: 3 } },
    ]);
  });

  it('of another workspace are not bounded by them', async () => {
    const { queries, settle } = await manyThresholds(3);
    const other = await createWorkspace(queries, { name: 'other', credit: 100n, maxInFlight: 1 }, sampleAuthor);
    const { key } = await createKey(queries, { workspace: 'other', rate: 1, burst: 1 }, sampleAuthor);
    await recordReached(queries, sampleNow);
    const ids = { workspaceId: other.id, keyId: key.id, requestId: 'other' };
    await settle([sampleOutcome({ ...ids, cost: 60n, startedAt: sampleNow })]);
    await recordReached(queries, sampleNow);
    expect(await listAlerts(queries, other.id, 9)).toMatchObject([{ percent: 50, delivery: 'waiting' }]);
  });
});
