import { type Kysely, sql } from 'kysely';
import { acceptActors } from './audit-table.ts';

/**
 * Adds what objects declare (docs/accounts-in-git.md): which object declares an account, how far a workspace may owe,
 * its labels, and the controller as an author of changes.
 */
export async function addDeclarations(database: Kysely<unknown>, amountBound: string): Promise<void> {
  const { schema } = database;
  await schema
    .alterTable('workspaces')
    .addColumn('credit_limit', 'bigint', (column) =>
      column
        .notNull()
        .defaultTo(0)
        .check(sql.raw(`credit_limit between 0 and ${amountBound}`)),
    )
    .execute();
  await schema.alterTable('workspaces').addColumn('labels', 'text').execute();
  await schema
    .createTable('declarations')
    .addColumn('account_id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull().check(sql`kind in ('Workspace', 'ApiKey', 'Credit')`))
    .addColumn('namespace', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('is_locked', 'bigint', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull().check(sql`state in ('current', 'pending', 'replaced')`))
    .addColumn('since', 'bigint', (column) => column.notNull())
    .execute();
  await schema.createIndex('accounts_of_object').on('declarations').columns(['kind', 'namespace', 'name']).execute();
  // Whatever becomes of an object, a later one of its name finds this account.
  await schema
    .createIndex('one_account_of_object')
    .unique()
    .on('declarations')
    .columns(['kind', 'namespace', 'name'])
    .where(sql<boolean>`state = 'current'`)
    .execute();
  await acceptActors(database, ['command-line', 'admin-token', 'portal-user', 'controller']);
}

/** Adds what people have set against an object, which holds until the object declares something else. */
export async function addOverrides({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('declarations').addColumn('spec', 'text').execute();
  await schema.alterTable('declarations').addColumn('override', 'text').execute();
}
