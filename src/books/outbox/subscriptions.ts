import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import {
  type DeliveryEnd,
  nextTryAt,
  type EventSubscription,
  type SubscriptionName,
  type WaitingFigures,
} from '../../core/event-delivery.ts';
import type { EventKind } from '../../core/event-type.ts';
import { startOf } from '../core/packed-id.ts';
import type { Schema } from '../databases/schema.ts';
import type { EventReplay } from './next-messages.ts';

const minuteMs = 60_000;
/** Well below `forgottenAfterMs`. */
const confirmEveryMs = 10 * minuteMs;
/** A replica without the setting must not end the subscription of the others, while a rollout adds it. */
const forgottenAfterMs = 60 * minuteMs;

/**
 * Keeps the subscriptions that a service wants, so that events are noted for them from now on, and ends those that no
 * service has wanted for an hour, with all that waits for them.
 */
export async function keepSubscriptions(
  queries: Kysely<Schema>,
  wanted: readonly EventSubscription[],
  now: number,
): Promise<void> {
  const known = await queries.selectFrom('event_subscriptions').select(['name', 'kinds', 'confirmed_at']).execute();
  const isLate = (at: bigint, ms: number): boolean => Math.abs(now - Number(at)) > ms;
  for (const { name, kinds: list } of wanted) {
    const kinds = list.join(',');
    const row = known.find((one) => one.name === name);
    if (row?.kinds === kinds && !isLate(row.confirmed_at, confirmEveryMs)) continue;
    const confirmed = { kinds, confirmed_at: BigInt(now) };
    await queries
      .insertInto('event_subscriptions')
      .values({ name, ...confirmed, holder: null, held_until: 0n, dropped: 0n, dropped_since: null })
      .onConflict((conflict) => conflict.column('name').doUpdateSet(confirmed))
      .execute();
  }
  for (const { name, confirmed_at: at } of known) {
    if (wanted.some((one) => one.name === name) || !isLate(at, forgottenAfterMs)) continue;
    await queries.transaction().execute(async (transaction) => {
      await transaction.deleteFrom('event_subscriptions').where('name', '=', name).execute();
      await transaction.deleteFrom('outbox').where('subscription', '=', name).execute();
    });
  }
}

/** Lets another process send at once. */
export async function leaveSubscriptions(queries: Kysely<Schema>, holder: string): Promise<void> {
  await queries.updateTable('event_subscriptions').set({ holder: null }).where('holder', '=', holder).execute();
}

/**
 * Ends messages: the accepted ones are deleted, and the one that failed is tried again later, or given up. Does nothing if
 * the lease was over and another process has taken it, which then sends them again.
 */
export async function endMessages(
  queries: Kysely<Schema>,
  { subscription, holder, accepted, failed, retryAfterMs }: DeliveryEnd,
  now: number,
): Promise<void> {
  await queries.transaction().execute(async (transaction) => {
    const missing = accepted.reduce((sum, one) => sum + one.missing, 0);
    const { numUpdatedRows: held } = await transaction
      .updateTable('event_subscriptions')
      .set(({ eb }) => ({ dropped: eb('dropped', '+', BigInt(missing)) }))
      .where('name', '=', subscription)
      .where('holder', '=', holder)
      .executeTakeFirstOrThrow();
    if (held !== 1n) return;
    const goesOn = accepted.findLast((one) => one.goesOn !== undefined);
    if (goesOn === undefined) {
      const rows = accepted.flatMap((one) => one.rows);
      const ended = await remove(transaction, rows);
      if (subscription === 'alerts') await setState(transaction, ended, 'delivered');
    } else {
      await transaction
        .updateTable('outbox')
        .set({ refs: goesOn.goesOn, tries: 0n })
        .where('seq', 'in', goesOn.rows)
        .execute();
    }
    if (failed !== undefined) await tryLater(transaction, { subscription, failed, retryAfterMs }, now);
  });
}

async function tryLater(
  transaction: Transaction<Schema>,
  { subscription: name, failed, retryAfterMs }: Omit<DeliveryEnd, 'accepted' | 'holder'> & { readonly failed: bigint },
  now: number,
): Promise<void> {
  const row = await transaction.selectFrom('outbox').select('tries').where('seq', '=', failed).executeTakeFirst();
  if (row === undefined) return;
  const tries = Number(row.tries) + 1;
  const next = nextTryAt({ name, tries, now, retryAfterMs });
  if (next === undefined) {
    await setState(transaction, await remove(transaction, [failed]), 'failed');
    await countDropped(transaction, { name, events: 1, since: null });
    return;
  }
  await transaction
    .updateTable('outbox')
    .set({ tries: BigInt(tries), retry_at: BigInt(next) })
    .where('seq', '=', failed)
    .execute();
  // Events wait for those before them. A webhook would be the next one that the receiver does not want yet.
  if (name === 'events' || retryAfterMs === undefined) return;
  await transaction
    .updateTable('outbox')
    .set({ retry_at: BigInt(next) })
    .where('subscription', '=', name)
    .where('retry_at', '<', BigInt(next))
    .execute();
}

/** Deletes rows, and returns their ids. */
async function remove(transaction: Transaction<Schema>, rows: readonly bigint[]): Promise<readonly string[]> {
  if (rows.length === 0) return [];
  const ended = await transaction.deleteFrom('outbox').where('seq', 'in', rows).returning('refs').execute();
  return ended.map(({ refs }) => refs);
}

/** Shows on the page Balance what became of webhooks. */
async function setState(
  transaction: Transaction<Schema>,
  ids: readonly string[],
  state: 'delivered' | 'failed',
): Promise<void> {
  if (ids.length > 0) await transaction.updateTable('alerts').set({ state }).where('id', 'in', ids).execute();
}

async function countDropped(
  transaction: Transaction<Schema>,
  { name, events, since }: { readonly name: SubscriptionName; readonly events: number; readonly since: bigint | null },
): Promise<void> {
  await transaction
    .updateTable('event_subscriptions')
    .set(({ eb, fn }) => ({
      dropped: eb('dropped', '+', BigInt(events)),
      dropped_since: fn.coalesce('dropped_since', sql<bigint | null>`cast(${since} as bigint)`),
    }))
    .where('name', '=', name)
    .execute();
}

/** Counts the events that wait for a subscription. Drops the oldest events beyond `maxWaiting`, so that the disk stays bounded. */
export async function waitingEvents(
  queries: Kysely<Schema>,
  { name, maxWaiting }: { readonly name: SubscriptionName; readonly maxWaiting: number },
  now: number,
): Promise<WaitingFigures> {
  const { waiting, oldest, rows } = await queries
    .selectFrom('outbox')
    .where('subscription', '=', name)
    .select(({ fn }) => [
      sql<bigint | string | null>`sum(case when at <= ${BigInt(now)} then events else 0 end)`.as('waiting'),
      sql<bigint | null>`min(case when at <= ${BigInt(now)} and kind <> 'replay' then at end)`.as('oldest'),
      fn.countAll<bigint | number>().as('rows'),
    ])
    .executeTakeFirstOrThrow();
  const excess = Number(waiting ?? 0) - maxWaiting;
  if (excess > 0) {
    await dropOldest(queries, { name, events: excess });
    return waitingEvents(queries, { name, maxWaiting }, now);
  }
  const { dropped, dropped_since: since } = (await queries
    .selectFrom('event_subscriptions')
    .select(['dropped', 'dropped_since'])
    .where('name', '=', name)
    .executeTakeFirst()) ?? { dropped: 0n, dropped_since: null };
  return {
    ...{ waiting: Number(waiting ?? 0), rows: Number(rows), dropped: Number(dropped) },
    lagMs: oldest === null ? 0 : Math.max(0, now - Number(oldest)),
    droppedSince: since === null ? undefined : Number(since),
  };
}

/** A replay finds a request by its start, and everything else by the moment at which it was written. */
function replayedFrom({ kind, refs, at }: Pick<Selectable<Schema['outbox']>, 'kind' | 'refs' | 'at'>): number {
  return kind === 'request' ? Math.min(...refs.split(',').map(startOf)) : Number(at);
}

const droppedAtOnce = 1_000;

async function dropOldest(
  queries: Kysely<Schema>,
  { name, events }: { readonly name: SubscriptionName; readonly events: number },
): Promise<void> {
  for (let left = events; left > 0;) {
    const rows = await queries
      .selectFrom('outbox')
      .select(['seq', 'events'])
      .where('subscription', '=', name)
      .where('kind', '<>', 'replay')
      .orderBy('seq')
      .limit(droppedAtOnce)
      .execute();
    const some: bigint[] = [];
    for (const row of rows) {
      if (left <= 0) break;
      some.push(row.seq);
      left -= Number(row.events);
    }
    if (some.length === 0) return;
    await queries.transaction().execute(async (transaction) => {
      // Rows that another process has dropped or delivered meanwhile are not counted again.
      const gone = await transaction
        .deleteFrom('outbox')
        .where('seq', 'in', some)
        .returning(['kind', 'refs', 'events', 'at'])
        .execute();
      if (gone.length === 0) return;
      const count = gone.reduce((sum, row) => sum + Number(row.events), 0);
      const since = gone.reduce((least, row) => Math.min(least, replayedFrom(row)), Infinity);
      await countDropped(transaction, { name, events: count, since: BigInt(since) });
    });
  }
}

/**
 * Sends the events of a time again, after those that wait: a row for each kind, which is read from the ledger as it is sent.
 * Returns the kinds; undefined: there is no subscription.
 */
export async function replayEvents(
  queries: Kysely<Schema>,
  { since, until, kinds }: { readonly since: number; readonly until: number; readonly kinds: readonly EventKind[] },
  now: number,
): Promise<readonly EventKind[] | undefined> {
  return queries.transaction().execute(async (transaction) => {
    const row = await transaction
      .selectFrom('event_subscriptions')
      .select(['kinds', 'dropped_since'])
      .where('name', '=', 'events')
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const wanted = new Set(row.kinds.split(','));
    const replayed = kinds.filter((kind) => wanted.has(kind));
    for (const kind of replayed) {
      const refs = JSON.stringify({ kind, since, until } satisfies EventReplay);
      const rest = { events: 0n, at: BigInt(now), retry_at: 0n, tries: 0n };
      await transaction
        .insertInto('outbox')
        .values({ subscription: 'events', kind: 'replay', refs, ...rest })
        .execute();
    }
    const isWhole = replayed.length === wanted.size && until >= now;
    if (isWhole && row.dropped_since !== null && since <= row.dropped_since) {
      await transaction
        .updateTable('event_subscriptions')
        .set({ dropped_since: null })
        .where('name', '=', 'events')
        .execute();
    }
    return replayed;
  });
}
