import { type Kysely, sql } from 'kysely';
import { deliveryStates } from '../../core/alert.ts';
import { acceptActors } from './audit-table.ts';

/** Adds the tag of an alert about the budget of a tag, and the order in which old alerts are deleted. */
export async function addTagAlerts({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('alerts').addColumn('tag', 'text').execute();
  await schema.createIndex('alerts_by_age').on('alerts').column('at').execute();
}

/** Adds thresholds, alerts with their deliveries, and what the share of a balance is counted from (docs/how-to/alerts.md). */
export async function addAlerts(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;
  for (const name of ['alert_base', 'alert_period']) {
    await schema
      .alterTable('workspaces')
      .addColumn(name, 'bigint', (column) => column.notNull().defaultTo(0))
      .execute();
  }
  // The first period of an existing workspace begins now.
  await sql`update workspaces set alert_base = balance`.execute(database);
  await schema
    .createTable('thresholds')
    .addColumn('object_id', 'text', (column) => column.primaryKey())
    .addColumn('percents', 'text', (column) => column.notNull())
    .execute();
  await schema
    .createTable('alerts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('object_id', 'text', (column) => column.notNull())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('period', 'text', (column) => column.notNull())
    .addColumn('percent', 'bigint', (column) => column.notNull())
    .addColumn('used', 'text', (column) => column.notNull())
    .addColumn('allowance', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) =>
      column.notNull().check(sql`state in (${sql.join(deliveryStates.map((state) => sql.lit(state)))})`),
    )
    .addColumn('tries', 'bigint', (column) => column.notNull())
    .addColumn('next_try_at', 'bigint', (column) => column.notNull())
    .addColumn('problem', 'text')
    .addUniqueConstraint('alert_once_a_period', ['period', 'object_id', 'percent'])
    .execute();
  await schema.createIndex('alerts_of_workspace').on('alerts').columns(['workspace_id', 'at']).execute();
  await schema
    .createIndex('alerts_to_deliver')
    .on('alerts')
    .column('next_try_at')
    .where(sql<boolean>`state = 'waiting'`)
    .execute();
  await acceptActors(database, ['command-line', 'admin-token', 'portal-user', 'controller', 'service']);
}
