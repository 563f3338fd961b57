// @suite both-databases
import { describe, expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { drain, eventsOf, next, sampleOutbox, usd } from '../../../test/support/sample-outbox.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { EventMessage } from '../../core/event-delivery.ts';
import { eventKinds } from '../../core/event-type.ts';
import { listAlerts, recordReached } from '../accounts/alerts.ts';
import { changeKey } from '../accounts/change-keys.ts';
import { creditWorkspace } from '../accounts/credits.ts';
import { endMessages, keepSubscriptions, replayEvents, waitingEvents } from './subscriptions.ts';

const dayMs = 86_400_000;
const alerts = { name: 'alerts', kinds: ['message'] } as const;

describe('what waits', () => {
  it('is counted, and beyond the bound the oldest is dropped, which a replay sends again', async () => {
    const { queries, spend, waiting } = await sampleOutbox(['request']);
    const ids = [];
    for (let batch = 0; batch < 5; batch += 1) ids.push(...(await spend(20)));
    expect(await waiting()).toMatchObject({ waiting: 100, rows: 5, dropped: 0 });
    expect(await waiting(50)).toMatchObject({ waiting: 40, rows: 2, dropped: 60, droppedSince: sampleNow + 1 });
    expect((await drain(queries)).map(({ id }) => id)).toEqual(ids.slice(60));
    const until = sampleNow + dayMs;
    expect(await replayEvents(queries, { since: sampleNow, until, kinds: eventKinds }, sampleNow)).toEqual(['request']);
    expect((await drain(queries)).map(({ id }) => id)).toEqual(ids);
    expect(await waiting()).toMatchObject({ waiting: 0, rows: 0, lagMs: 0, dropped: 60, droppedSince: undefined });
  });

  it('is forgotten when no service has wanted it for an hour, and not before', async () => {
    const { queries, spend } = await sampleOutbox();
    await spend(1);
    const rows = async () => (await queries.selectFrom('outbox').selectAll().execute()).length;
    await keepSubscriptions(queries, [alerts], sampleNow + 3_600_000);
    expect(await rows()).toBe(1);
    await keepSubscriptions(queries, [alerts], sampleNow + 3_600_001);
    expect(await rows()).toBe(0);
    await spend(1);
    expect(await rows()).toBe(0);
  });
});

describe('a message that a receiver refuses with Retry-After', () => {
  it.each([
    ['sooner than the own pause', 1_000, 5_000],
    ['later', 600_000, 600_000],
    ['later than the bound', 86_400_000, 1_800_000],
  ])('is sent again %s: %d ms asked, %d ms later', async (_, retryAfterMs, laterMs) => {
    const { queries, spend } = await sampleOutbox();
    const ids = await spend(3);
    const [message] = await next(queries);
    const failed = message?.rows[0];
    const end = { subscription: 'events', holder: 'one', accepted: [], failed, retryAfterMs } as const;
    await endMessages(queries, end, sampleNow);
    expect(await next(queries, sampleNow + laterMs - 1)).toEqual([]);
    expect(eventsOf(await next(queries, sampleNow + laterMs)).map(({ id }) => id)).toEqual(
      expect.arrayContaining([...ids]),
    );
  });
});

describe('a replay', () => {
  it('sends every row of its time once more with the same id, page by page, after what waits', async () => {
    const { queries, spend } = await sampleOutbox();
    const ids = await spend(1_200);
    await creditWorkspace(
      queries,
      'acme',
      { amount: usd('5'), note: undefined, idempotencyKey: undefined },
      sampleAuthor,
    );
    const first = await drain(queries);
    await replayEvents(queries, { since: sampleNow, until: sampleNow + dayMs, kinds: eventKinds }, sampleNow);
    const later = await spend(1);
    const page = await next(queries);
    expect(page).toHaveLength(5);
    // Two of its messages arrive, and the process dies.
    const [accepted, failed] = [page.slice(0, 2), page[2]?.rows[0]];
    await endMessages(queries, { subscription: 'events', holder: 'one', accepted, failed }, sampleNow);
    expect(await next(queries)).toEqual([]);
    const rest = await drain(queries, sampleNow + 60_000);
    const again = [...eventsOf(accepted), ...rest];
    expect(again.slice(0, 1_200).map(({ id }) => id)).toEqual(ids);
    const known = new Map(again.map((event) => [event.id, event]));
    for (const event of first) expect(known.get(event.id)).toEqual(event);
    // The request that was settled later is within the time of the replay, and an event of its own.
    expect(again.filter(({ id }) => id === later[0])).toHaveLength(2);
    // Of the sample: its first credit, and the entries of its workspace, its key and the second credit.
    expect(again.map(({ type }) => type).filter((type) => type !== 'dev.weir.request.settled')).toEqual([
      ...['dev.weir.credit', 'dev.weir.credit', 'dev.weir.audit', 'dev.weir.audit', 'dev.weir.audit'],
    ]);
  });
});

describe('a webhook about a threshold', () => {
  async function waiting() {
    const { queries, ids, key, settle } = await sampleDatabase('10');
    await keepSubscriptions(queries, [alerts], sampleNow);
    await changeKey(queries, key.id, { budget: { limit: 4n, period: 'day' } }, sampleAuthor);
    await settle([sampleOutcome({ ...ids, cost: 4n, startedAt: sampleNow })]);
    await recordReached(queries, sampleNow);
    const state = async () => (await listAlerts(queries, ids.workspaceId, 9)).map(({ delivery }) => delivery);
    const end = async (now: number, failed: bigint | undefined, accepted: readonly EventMessage[] = []) =>
      endMessages(queries, { subscription: 'alerts', holder: 'one', accepted, failed }, now);
    return { queries, state, end };
  }

  it('is a message of its own, which holds up no others, and is then delivered', async () => {
    const { queries, state, end } = await waiting();
    const all = await next(queries, sampleNow, 'one', 'alerts');
    expect(all.map(({ id, body }) => [id, (JSON.parse(body) as { readonly type: string }).type])).toEqual(
      Array.from({ length: 3 }, () => [expect.stringMatching(/^alert_/), 'budget.threshold_reached']),
    );
    await end(sampleNow, all[0]?.rows[0], []);
    expect(await next(queries, sampleNow, 'one', 'alerts')).toEqual(all.slice(1));
    await end(sampleNow, undefined, all.slice(1));
    expect((await state()).toSorted()).toEqual(['delivered', 'delivered', 'waiting']);
  });

  it('is tried for a day, with growing pauses, and then given up', async () => {
    const { queries, state, end } = await waiting();
    const [message, ...others] = await next(queries, sampleNow, 'one', 'alerts');
    await end(sampleNow, message?.rows[0], others);
    const at: number[] = [0];
    const dueAt = async () => (await queries.selectFrom('outbox').select('retry_at').executeTakeFirst())?.retry_at;
    for (let now = await dueAt(); now !== undefined; now = await dueAt()) {
      at.push((Number(now) - sampleNow) / 1000);
      const [again] = await next(queries, Number(now), 'one', 'alerts');
      expect(again).toEqual(message);
      await end(Number(now), again?.rows[0]);
    }
    expect(at.slice(0, 6)).toEqual([0, 5, 15, 35, 75, 155]);
    expect(at).toHaveLength(56);
    expect(at.at(-1)).toBeGreaterThan(23 * 3600);
    expect(at.at(-1)).toBeLessThanOrEqual(24 * 3600);
    expect((await state()).toSorted()).toEqual(['delivered', 'delivered', 'failed']);
    const figures = await waitingEvents(queries, { name: 'alerts', maxWaiting: 9 }, sampleNow + dayMs);
    expect(figures).toMatchObject({ waiting: 0, dropped: 1, droppedSince: undefined });
  });
});
