import { type Kysely, sql } from 'kysely';
import { isSqlite } from './sql-dialect.ts';

/**
 * Adds the outbox: a row for each subscription and each event, or some settled requests of one batch, until it is delivered
 * (docs/how-to/events.md). Webhooks that wait become rows of it.
 */
export async function addOutbox(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;
  await schema
    .createTable('event_subscriptions')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('kinds', 'text', (column) => column.notNull())
    .addColumn('holder', 'text')
    .addColumn('held_until', 'bigint', (column) => column.notNull())
    .addColumn('confirmed_at', 'bigint', (column) => column.notNull())
    .addColumn('dropped', 'bigint', (column) => column.notNull())
    .addColumn('dropped_since', 'bigint')
    .execute();
  const onSqlite = isSqlite(database);
  await schema
    .createTable('outbox')
    // A number is never used twice: a sender that was stopped for long must not end the row of a later event.
    .addColumn('seq', onSqlite ? 'integer' : 'bigint', (column) =>
      onSqlite ? column.primaryKey().autoIncrement() : column.generatedAlwaysAsIdentity().primaryKey(),
    )
    .addColumn('subscription', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('refs', 'text', (column) => column.notNull())
    .addColumn('events', 'bigint', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('retry_at', 'bigint', (column) => column.notNull())
    .addColumn('tries', 'bigint', (column) => column.notNull())
    .execute();
  await schema.createIndex('outbox_of_subscription').on('outbox').columns(['subscription', 'seq']).execute();
  await sql`insert into event_subscriptions (name, kinds, held_until, confirmed_at, dropped)
    select 'alerts', 'message', 0, max(at), 0 from alerts where state = 'waiting' having count(*) > 0`.execute(
    database,
  );
  await sql`insert into outbox (subscription, kind, refs, events, at, retry_at, tries)
    select 'alerts', 'message', id, 1, case when tries = 0 then next_try_at else at end, next_try_at, tries
    from alerts where state = 'waiting' order by at`.execute(database);
}

/** Lets waiting events be counted from the index alone: a row's `refs` take some 2 KB, and a long outage of a receiver leaves 200,000 rows. */
export async function addOutboxCounts({ schema }: Kysely<unknown>): Promise<void> {
  await schema.dropIndex('outbox_of_subscription').execute();
  await schema
    .createIndex('outbox_of_subscription')
    .on('outbox')
    .columns(['subscription', 'seq', 'at', 'events', 'kind'])
    .execute();
}
