// @suite both-databases
import { describe, expect, it, onTestFinished } from 'vitest';
import { databaseKind, sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { drain, eventsOf, next, outboxLeaseMs, sampleOutbox, usd } from '../../../test/support/sample-outbox.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { eventKinds } from '../../core/event-type.ts';
import { recordReached } from '../accounts/alerts.ts';
import { changeKey } from '../accounts/change-keys.ts';
import { creditWorkspace } from '../accounts/credits.ts';
import { createKey } from '../accounts/keys.ts';
import { createWorkspace } from '../accounts/workspaces.ts';
import { openDatabase } from '../databases/open-database.ts';
import { settleBatch } from '../ledger/settle-batch.ts';
import { endMessages, leaveSubscriptions, replayEvents } from './subscriptions.ts';

const dayMs = 86_400_000;

describe('the outbox', () => {
  it('has nothing while there is no subscription', async () => {
    const { queries, settle, ids } = await sampleDatabase();
    await settle([sampleOutcome(ids)]);
    expect(await queries.selectFrom('outbox').selectAll().execute()).toEqual([]);
    expect(await replayEvents(queries, { since: 0, until: 1, kinds: eventKinds }, sampleNow)).toBeUndefined();
  });

  it('has an event for each row, as CloudEvents with the public form of the row', async () => {
    const { queries, ids, settle, key } = await sampleOutbox();
    await changeKey(queries, key.id, { budget: { limit: usd('4'), period: 'day' } }, sampleAuthor);
    await creditWorkspace(
      queries,
      'acme',
      { amount: usd('5'), note: undefined, idempotencyKey: undefined },
      sampleAuthor,
    );
    await creditWorkspace(
      queries,
      'acme',
      { amount: -usd('1'), note: 'slip', idempotencyKey: undefined },
      sampleAuthor,
    );
    const outcome = sampleOutcome({
      ...ids,
      requestId: 'req-1',
      cost: usd('2'),
      startedAt: sampleNow,
      durationMs: 250,
    });
    await settle([outcome]);
    await recordReached(queries, sampleNow);
    const received = await drain(queries);
    expect(received.map(({ type }) => type)).toEqual([
      'dev.weir.audit',
      ...['dev.weir.credit', 'dev.weir.audit', 'dev.weir.ledger.correction', 'dev.weir.audit'],
      ...['dev.weir.request.settled', 'dev.weir.alert', 'dev.weir.audit'],
    ]);
    const [, credit, , correction, , request, alert, audit] = received;
    const source = expect.stringMatching(/^urn:uuid:[0-9a-f-]{36}$/);
    expect(request).toEqual({
      ...{ specversion: '1.0', id: 'req-1', source, type: 'dev.weir.request.settled', subject: 'acme' },
      ...{ time: '2026-07-01T00:00:00.250Z', datacontenttype: 'application/json' },
      data: expect.objectContaining({ id: 'req-1', workspace: 'acme', key: key.id, cost: '2' }),
    });
    expect(credit).toMatchObject({
      id: expect.stringMatching(/^credit_/),
      subject: 'acme',
      data: { amount: '5', workspace_id: ids.workspaceId },
    });
    expect(correction?.data).toMatchObject({ amount: '-1', note: 'slip' });
    expect(alert?.data).toMatchObject({ kind: 'budget', threshold_percent: 50, used_usd: '2', key_id: key.id });
    expect(audit).toMatchObject({
      id: expect.stringMatching(/^audit_\d+$/),
      data: { action: 'key.threshold-reached', workspace: 'acme' },
    });
    expect(new Set(received.map(({ id }) => id)).size).toBe(received.length);
    expect(await queries.selectFrom('outbox').selectAll().execute()).toEqual([]);
  });

  it('has only the kinds that a subscription wants', async () => {
    const { queries, spend } = await sampleOutbox(['credit']);
    await spend(3);
    await creditWorkspace(
      queries,
      'acme',
      { amount: usd('5'), note: undefined, idempotencyKey: undefined },
      sampleAuthor,
    );
    expect((await drain(queries)).map(({ type }) => type)).toEqual(['dev.weir.credit']);
  });

  it('has nothing of a transaction that fails, nor of a request that was settled before', async () => {
    const { queries, ids, settle, spend } = await sampleOutbox();
    await spend(1);
    await settle([sampleOutcome({ ...ids, requestId: 'req-1', cost: usd('0.01'), startedAt: sampleNow + 1 })]);
    await expect(settle([sampleOutcome({ ...ids, workspaceId: 'ws_none', requestId: 'req-x' })])).rejects.toThrow(
      'ws_none',
    );
    expect((await drain(queries)).map(({ id }) => id)).toEqual(['req-1']);
  });

  it('has the requests of each workspace in the order of their commits, from two services at once', async () => {
    const { queries, location, ids } = await sampleOutbox(['request']);
    const other = await openDatabase(location, { missing: 'refuse', user: 'operator' });
    onTestFinished(() => other.close());
    const second = await createWorkspace(queries, { name: 'second', credit: usd('9'), maxInFlight: 1 }, sampleAuthor);
    const { key } = await createKey(queries, { workspace: 'second', rate: 1, burst: 1 }, sampleAuthor);
    const owners = [ids, { workspaceId: second.id, keyId: key.id }];
    /** By balance: it falls with each commit of the workspace. */
    const committed = new Map(owners.map(({ workspaceId }) => [workspaceId, new Map<bigint, readonly string[]>()]));
    const service = await openDatabase(location, { missing: 'refuse', user: 'service' });
    onTestFinished(() => service.close());
    const settleMany = async (database: typeof other, name: string): Promise<void> => {
      for (let batch = 0; batch < 20; batch += 1) {
        const rows = owners.map((owner, index) =>
          sampleOutcome({ ...owner, requestId: `${name}-${batch}-${index}`, cost: 1n, startedAt: sampleNow + batch }),
        );
        const { balances } = await settleBatch(database, rows);
        for (const [id, balance] of balances) {
          const own = rows.filter(({ workspaceId }) => workspaceId === id);
          committed.get(id)?.set(
            balance,
            own.map(({ requestId }) => requestId),
          );
        }
      }
    };
    // Both connections to SQLite are in this thread, which could not wait for its lock.
    if (databaseKind === 'sqlite') for (const name of ['a', 'b']) await settleMany(other, name);
    else await Promise.all([settleMany(other, 'a'), settleMany(service, 'b')]);
    const received = await drain(queries);
    for (const [name, id] of [
      ['acme', ids.workspaceId],
      ['second', second.id],
    ] as const) {
      const order = [...(committed.get(id) ?? [])]
        .toSorted(([one], [two]) => Number(two - one))
        .flatMap(([, all]) => all);
      expect(order).toHaveLength(40);
      expect(received.filter(({ subject }) => subject === name).map((event) => event.id)).toEqual(order);
    }
  });
});

describe('a message', () => {
  it('has at most a hundred events, in their order, and the same id and body until it is accepted', async () => {
    const { queries, spend } = await sampleOutbox();
    const ids = [...(await spend(130)), ...(await spend(1)), ...(await spend(90))];
    const first = await next(queries);
    expect(first.map((message) => message.events)).toEqual([100, 81, 40]);
    expect(eventsOf(first).map(({ id }) => id)).toEqual(ids);
    expect(await next(queries)).toEqual(first);
    const [one, two] = first;
    if (one === undefined || two === undefined) throw new Error('no message');
    await endMessages(
      queries,
      { subscription: 'events', holder: 'one', accepted: [one], failed: two.rows[0] },
      sampleNow,
    );
    expect(await next(queries, sampleNow + 4_999)).toEqual([]);
    expect(await next(queries, sampleNow + 5_000)).toEqual(first.slice(1));
  });

  it('is sent by one process at a time, and by another one after its lease or its end', async () => {
    const { queries, spend } = await sampleOutbox();
    await spend(1);
    const mine = await next(queries);
    expect(await next(queries, sampleNow + outboxLeaseMs - 1, 'two')).toEqual([]);
    expect(await next(queries, sampleNow + outboxLeaseMs, 'two')).toEqual(mine);
    // The first one was stopped meanwhile. What it reports does not count.
    await endMessages(queries, { subscription: 'events', holder: 'one', accepted: mine, failed: undefined }, sampleNow);
    expect(await next(queries, sampleNow + outboxLeaseMs, 'two')).toEqual(mine);
    expect(await next(queries, sampleNow + outboxLeaseMs, 'one')).toEqual([]);
    await leaveSubscriptions(queries, 'two');
    expect(await next(queries, sampleNow + outboxLeaseMs, 'one')).toEqual(mine);
  });

  it.each([
    ['a minute', 60_000],
    ['a month', 31 * dayMs],
  ])('is sent in time when the clock was %s ahead while it was claimed and failed', async (_, aheadMs) => {
    const { queries, spend } = await sampleOutbox();
    await spend(1);
    const [message] = await next(queries, sampleNow + aheadMs);
    const failed = message?.rows[0];
    await endMessages(queries, { subscription: 'events', holder: 'one', accepted: [], failed }, sampleNow + aheadMs);
    const again = [await next(queries, sampleNow + 1), await next(queries, sampleNow + 3_720_000, 'two')];
    expect(again).toContainEqual([message]);
  });

  it('leaves out what retention has deleted, and counts it', async () => {
    const { queries, spend, waiting } = await sampleOutbox(['request']);
    const [, second] = await spend(2);
    await queries.deleteFrom('requests').where('request_text', '=', 'req-1').execute();
    expect((await drain(queries)).map(({ id }) => id)).toEqual([second]);
    expect(await waiting()).toMatchObject({ waiting: 0, rows: 0, dropped: 1, droppedSince: undefined });
  });
});
