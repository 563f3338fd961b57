import { type Kysely, sql } from 'kysely';
import { acceptActors } from './audit-table.ts';
import { isSqlite } from './sql-dialect.ts';

/**
 * Adds what objects declare (docs/how-to/accounts-in-git.md): which object declares an account, how far a workspace may owe,
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
    .addColumn('kind', 'text', (column) => column.notNull().check(isOneOf(['Workspace', 'ApiKey', 'Credit'])))
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

function isOneOf(kinds: readonly string[]) {
  return sql<boolean>`kind in (${sql.join(kinds.map((kind) => sql.lit(kind)))})`;
}

/** Lets objects of further kinds declare accounts. SQLite cannot change a check: the column gets another one. */
export async function acceptKinds(database: Kysely<unknown>, kinds: readonly string[]): Promise<void> {
  if (!isSqlite(database)) {
    await sql`alter table declarations drop constraint declarations_kind_check`.execute(database);
    await sql`alter table declarations add constraint declarations_kind_check check (${isOneOf(kinds)})`.execute(
      database,
    );
    return;
  }
  const { schema } = database;
  const indexes = await sql<{ name: string; text: string }>`
    select name, sql as text from sqlite_master where tbl_name = 'declarations' and type = 'index' and sql is not null
  `.execute(database);
  for (const { name } of indexes.rows) await schema.dropIndex(name).execute();
  await schema.alterTable('declarations').renameColumn('kind', 'kind_before').execute();
  await sql`alter table declarations add column kind text not null default 'Workspace' check (${isOneOf(kinds)})`.execute(
    database,
  );
  await sql`update declarations set kind = kind_before`.execute(database);
  await schema.alterTable('declarations').dropColumn('kind_before').execute();
  for (const { text } of indexes.rows) await sql.raw(text).execute(database);
}

/** Adds what people have set against an object, which holds until the object declares something else. */
export async function addOverrides({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('declarations').addColumn('spec', 'text').execute();
  await schema.alterTable('declarations').addColumn('override', 'text').execute();
}
