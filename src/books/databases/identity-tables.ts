import { type Kysely, sql } from 'kysely';
import { acceptKinds } from './declaration-tables.ts';

/** Adds identities, and the keys that are the accounts of identities: rows without a text (docs/how-to/identities.md). */
export async function addIdentities(database: Kysely<unknown>, amountBound: string): Promise<void> {
  const { schema } = database;
  await schema
    .createTable('identities')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull().check(sql`status in ('active', 'suspended', 'revoked')`))
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('audience', 'text', (column) => column.notNull())
    .addColumn('rules', 'text', (column) => column.notNull())
    .addColumn('budget_limit', 'bigint', (column) =>
      column.check(sql`budget_limit between 0 and ${sql.raw(amountBound)}`),
    )
    .addColumn('budget_period', 'text', (column) =>
      column.check(sql`budget_period in ('day', 'week', 'month', 'total')`),
    )
    .addColumn('rate', 'bigint', (column) => column.notNull())
    .addColumn('burst', 'bigint', (column) => column.notNull())
    .addColumn('models', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await schema
    .createIndex('one_identity_of_a_name')
    .unique()
    .on('identities')
    .column('name')
    .where(sql<boolean>`status <> 'revoked'`)
    .execute();
  await schema
    .alterTable('keys')
    .addColumn('identity_id', 'text', (column) => column.references('identities.id'))
    .execute();
  await schema.alterTable('keys').addColumn('subject', 'text').execute();
  await schema.createIndex('accounts_of_identity').on('keys').column('identity_id').execute();
  await acceptKinds(database, ['Workspace', 'ApiKey', 'Credit', 'Identity']);
}
