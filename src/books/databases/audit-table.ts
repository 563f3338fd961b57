import { type Kysely, sql } from 'kysely';
import { isSqlite } from './sql-dialect.ts';

/** Makes the table of the audit trail, with the triggers that keep its rows. `actors`: the kinds that it accepts. */
export async function createAuditTrail(database: Kysely<unknown>, actors: readonly string[]): Promise<void> {
  const { schema } = database;
  await createTable(database, actors);
  await schema.createIndex('audit_by_time').on('audit').column('at').execute();
  await schema.createIndex('audit_of_workspace').on('audit').columns(['workspace_id', 'id']).execute();
  const why = 'entries of the audit trail are never changed or removed';
  await keepRows(database, 'audit', { why, replaces: 'refused' });
}

async function createTable(database: Kysely<unknown>, actors: readonly string[]): Promise<void> {
  const onSqlite = isSqlite(database);
  await database.schema
    .createTable('audit')
    // The database numbers the entries, so that the order of two entries of one millisecond is known.
    .addColumn('id', onSqlite ? 'integer' : 'bigint', (column) =>
      onSqlite ? column.primaryKey().autoIncrement() : column.generatedAlwaysAsIdentity().primaryKey(),
    )
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('actor_kind', 'text', (column) => column.notNull().check(isOneOf(actors)))
    .addColumn('actor_name', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('object_id', 'text', (column) => column.notNull())
    .addColumn('workspace_id', 'text')
    .addColumn('before', 'text')
    .addColumn('after', 'text', (column) => column.notNull())
    .execute();
}

function isOneOf(actors: readonly string[]) {
  return sql<boolean>`actor_kind in (${sql.join(actors.map((actor) => sql.lit(actor)))})`;
}

/**
 * Lets the audit trail accept further kinds of actors. SQLite cannot change a check, so its table is copied. The copy keeps
 * all indexes and triggers, also those of later steps.
 */
export async function acceptActors(database: Kysely<unknown>, actors: readonly string[]): Promise<void> {
  if (!isSqlite(database)) {
    await sql`alter table audit drop constraint audit_actor_kind_check`.execute(database);
    await sql`alter table audit add constraint audit_actor_kind_check check (${isOneOf(actors)})`.execute(database);
    return;
  }
  const { rows: kept } = await sql<{ text: string }>`
    select sql as text from sqlite_master where tbl_name = 'audit' and type in ('index', 'trigger') and sql is not null
  `.execute(database);
  await sql`alter table audit rename to audit_before`.execute(database);
  await createTable(database, actors);
  await sql`insert into audit select * from audit_before`.execute(database);
  // Removes its indexes and triggers, too, so their names are free again.
  await sql`drop table audit_before`.execute(database);
  for (const { text } of kept) await sql.raw(text).execute(database);
}

/**
 * Makes the database refuse to change or remove the rows of a table. On SQLite `insert or replace` removes the row of the same id
 * without calling triggers of `delete`; `replaces`: refuse that, too.
 */
export async function keepRows(
  database: Kysely<unknown>,
  table: string,
  { why, replaces }: { readonly why: string; readonly replaces?: 'refused' },
): Promise<void> {
  const name = (suffix: string) => sql.ref(`${table}_${suffix}`);
  const refused = sql.lit(why);
  if (!isSqlite(database)) {
    await sql`
      create or replace function ${name('keeps_rows')}() returns trigger language plpgsql as $$
      begin raise exception ${refused}; end $$
    `.execute(database);
    await sql`
      create trigger ${name('keeps_rows')} before update or delete or truncate on ${sql.table(table)}
      for each statement execute function ${name('keeps_rows')}()
    `.execute(database);
    return;
  }
  const refuse = (trigger: string, event: string, when = sql``) =>
    sql`
      create trigger ${name(trigger)} before ${sql.raw(event)} on ${sql.table(table)} ${when}
      begin select raise(abort, ${refused}); end
    `.execute(database);
  await refuse('keeps_rows_as_they_are', 'update');
  await refuse('keeps_rows', 'delete');
  if (replaces === 'refused') {
    const isThere = sql`when exists (select 1 from ${sql.table(table)} where id = new.id)`;
    await refuse('replaces_no_row', 'insert', isThere);
  }
}
