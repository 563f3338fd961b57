import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { createCompactLedger } from './ledger-tables.ts';
import type { Schema } from './schema.ts';
import { isSqlite } from './sql-dialect.ts';

/** Whether the tables are those of this version. False also when that cannot be read: the next query then tells what is wrong. */
export async function isUpToDate(database: Kysely<Schema>, changes = migrations): Promise<boolean> {
  return (await applied(database)) === Object.keys(changes).toSorted().at(-1);
}

/**
 * Brings the tables up to date. Safe to call from several processes at once: they take turns under SQLite's write lock or an
 * advisory lock of PostgreSQL. Throws when the tables were made by a newer version, and when a change fails, which is then rolled
 * back. Tests that need the tables of an earlier version name its changes.
 */
export async function migrate(database: Kysely<Schema>, changes = migrations): Promise<void> {
  if (await isUpToDate(database, changes)) return;
  // Loaded only when there is something to do, since every command opens the tables.
  const { Migrator } = await import('kysely/migration');
  const schema = await currentSchema(database);
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: async () => ({ ...changes }) },
    // Without it, Kysely takes another application's tables, in another schema of the database, for ours.
    ...(schema === undefined ? {} : { migrationTableSchema: schema }),
  });
  const known = new Set(Object.keys(changes));
  const unknown = (await migratedNames(database)).find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new Error(`its tables were made by a newer version of Weir (${unknown} is not known here)`);
  }
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined)
    throw error instanceof Error ? error : new Error('a change of its tables failed', { cause: error });
}

/** The schema that our tables are in; undefined on SQLite, which has none. */
async function currentSchema(database: Kysely<Schema>): Promise<string | undefined> {
  try {
    const { rows } = await sql<{ name: string | null }>`select current_schema() as name`.execute(database);
    return rows[0]?.name ?? undefined;
  } catch {
    return undefined;
  }
}

async function applied(database: Kysely<Schema>): Promise<string | undefined> {
  return (await migratedNames(database)).at(-1);
}

async function migratedNames(database: Kysely<Schema>): Promise<readonly string[]> {
  try {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(database);
    return rows.map((row) => row.name);
  } catch {
    return []; // A new database has no such table; any other error comes back with the next query.
  }
}

// A bound on every amount, a little below 64 bits: SQLite would turn a larger sum into a float without an error.
const amountBound = '9000000000000000000';

/**
 * Adds what the portal needs: its sessions, the beginnings of keys, by which people tell them apart, and what marks a credit that is
 * asked for twice.
 */
async function addPortal({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('sessions')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('workspaces', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.references('keys.id'))
    .addColumn('credential', 'text')
    .addColumn('csrf_token', 'text', (column) => column.notNull())
    .addColumn('log_out_hint', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await schema.createIndex('sessions_by_expiry').on('sessions').column('expires_at').execute();
  await schema.alterTable('keys').addColumn('prefix', 'text').execute();
  await schema.alterTable('credits').addColumn('idempotency_key', 'text').execute();
  await schema
    .createIndex('credits_asked_for_once')
    .unique()
    .on('credits')
    .columns(['workspace_id', 'idempotency_key'])
    .execute();
}

/**
 * The changes of the tables, oldest first, for SQLite and PostgreSQL alike: text and 64-bit integers, and a dialect's own words only
 * where the two have none in common (triggers) and for the tables of the ledger (`ledger-tables.ts`), whose rows are many. A migration
 * that has been released is never edited; add another one.
 */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001-accounts-and-ledger': { up: createAccountsAndLedger },
  '0002-spending-and-counts': { up: addSpendingAndCounts },
  '0003-web-searches': { up: addWebSearches },
  '0004-secrets': { up: addSecrets },
  '0005-audit-trail': { up: addAuditTrail },
  '0006-reservations': { up: addReservations },
  '0007-compact-ledger': { up: (database) => createCompactLedger(database, amountBound) },
  '0008-portal': { up: addPortal },
  '0009-playground-keys': { up: addPlaygroundKeys },
};

/** Adds whose playground a key is for. A person has one such key in a workspace, besides revoked ones. */
async function addPlaygroundKeys({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('keys').addColumn('playground_of', 'text').execute();
  await schema
    .createIndex('one_playground_key')
    .unique()
    .on('keys')
    .columns(['workspace_id', 'playground_of'])
    .where(sql<boolean>`playground_of is not null and status <> 'revoked'`)
    .execute();
}

/** Adds a table of what replicas share and nobody else may know. */
async function addSecrets({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('secrets')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute();
}

/** Adds what replicas tell of their reservations. */
async function addReservations({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('reservations')
    .addColumn('replica', 'text', (column) => column.notNull())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addColumn('as_of', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('reservation_of_replica', ['replica', 'workspace_id'])
    .execute();
}

/** Adds names, expiry and models of keys, notes of credits, and the audit trail. */
async function addAuditTrail(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;
  for (const [column, type] of [
    ['name', 'text'],
    ['expires_at', 'bigint'],
    ['models', 'text'],
  ] as const) {
    await schema.alterTable('keys').addColumn(column, type).execute();
  }
  await schema.alterTable('credits').addColumn('note', 'text').execute();

  const onSqlite = isSqlite(database);
  await schema
    .createTable('audit')
    // The database counts, so that the order of two entries of one millisecond is known.
    .addColumn('id', onSqlite ? 'integer' : 'bigint', (column) =>
      onSqlite ? column.primaryKey().autoIncrement() : column.generatedAlwaysAsIdentity().primaryKey(),
    )
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('actor_kind', 'text', (column) =>
      column.notNull().check(sql`actor_kind in ('command-line', 'admin-token', 'portal-user')`),
    )
    .addColumn('actor_name', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('object_id', 'text', (column) => column.notNull())
    .addColumn('workspace_id', 'text')
    .addColumn('before', 'text')
    .addColumn('after', 'text', (column) => column.notNull())
    .execute();
  await schema.createIndex('audit_by_time').on('audit').column('at').execute();
  await schema.createIndex('audit_of_workspace').on('audit').columns(['workspace_id', 'id']).execute();
  await (onSqlite ? keepRowsOnSqlite : keepRowsOnPostgres)(database);
}

const keepsRows = 'entries of the audit trail are never changed or removed';

async function keepRowsOnPostgres(database: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function audit_keeps_rows() returns trigger language plpgsql as $$
    begin raise exception ${sql.lit(keepsRows)}; end $$
  `.execute(database);
  await sql`
    create trigger audit_keeps_rows before update or delete or truncate on audit
    for each statement execute function audit_keeps_rows()
  `.execute(database);
}

async function keepRowsOnSqlite(database: Kysely<unknown>): Promise<void> {
  for (const [name, event, when] of [
    ['audit_keeps_rows_as_they_are', 'update', sql``],
    ['audit_keeps_rows', 'delete', sql``],
    // `insert or replace` removes the row of the same id without calling triggers of `delete`.
    ['audit_replaces_no_row', 'insert', sql`when exists (select 1 from audit where id = new.id)`],
  ] as const) {
    await sql`
      create trigger ${sql.ref(name)} before ${sql.raw(event)} on audit ${when}
      begin select raise(abort, ${sql.lit(keepsRows)}); end
    `.execute(database);
  }
}

/** Adds how often the web was searched; null where that was not asked for. */
async function addWebSearches({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('ledger').addColumn('web_searches', 'bigint').execute();
}

/** Adds spending by key and day, computed from the existing rows; and replaces the flag `estimated` by who counted the tokens. */
async function addSpendingAndCounts(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;
  await schema
    .createTable('spending')
    .addColumn('key_id', 'text', (column) => column.notNull().references('keys.id'))
    .addColumn('day', 'bigint', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull().check(within('amount')))
    .addColumn('last_used_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('spending_of_key', ['key_id', 'day'])
    .execute();
  await sql`
    insert into spending (key_id, day, amount, last_used_at)
    select key_id, started_at - started_at % 86400000, cast(sum(cost) as bigint), max(started_at)
    from ledger group by key_id, started_at - started_at % 86400000
  `.execute(database);

  await schema
    .alterTable('ledger')
    .addColumn('counted_by', 'text', (column) =>
      column
        .notNull()
        .defaultTo('engine')
        .check(sql`counted_by in ('engine', 'tokenizer', 'estimate')`),
    )
    .execute();
  // Until now rows did not tell whether the engine or a tokenizer had counted.
  await sql`update ledger set counted_by = 'estimate' where estimated = 1`.execute(database);
  await schema.alterTable('ledger').dropColumn('estimated').execute();
}

function within(column: string) {
  return sql.raw(`${column} between -${amountBound} and ${amountBound}`);
}

async function createAccountsAndLedger(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;

  await schema
    .createTable('workspaces')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('status', 'text', (column) => column.notNull().check(sql`status in ('active', 'suspended')`))
    .addColumn('balance', 'bigint', (column) => column.notNull().check(within('balance')))
    .addColumn('max_in_flight', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();

  await schema
    .createTable('keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('workspace_id', 'text', (column) => column.notNull().references('workspaces.id'))
    .addColumn('status', 'text', (column) => column.notNull().check(sql`status in ('active', 'suspended', 'revoked')`))
    .addColumn('budget_limit', 'bigint', (column) => column.check(within('budget_limit')))
    .addColumn('budget_period', 'text', (column) =>
      column.check(sql`budget_period in ('day', 'week', 'month', 'total')`),
    )
    .addColumn('rate', 'bigint', (column) => column.notNull())
    .addColumn('burst', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();

  await schema
    .createTable('credits')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull().references('workspaces.id'))
    .addColumn('amount', 'bigint', (column) => column.notNull().check(within('amount')))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();

  await schema
    .createTable('ledger')
    .addColumn('request_id', 'text', (column) => column.primaryKey())
    .addColumn('correlation_id', 'text', (column) => column.notNull())
    .addColumn('workspace_id', 'text', (column) => column.notNull().references('workspaces.id'))
    .addColumn('key_id', 'text', (column) => column.notNull().references('keys.id'))
    .addColumn('model_id', 'text', (column) => column.notNull())
    .addColumn('route_id', 'text')
    .addColumn('surface', 'text', (column) => column.notNull())
    .addColumn('stream', 'bigint', (column) => column.notNull().check(sql`stream in (0, 1)`))
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('prompt_tokens', 'bigint', (column) => column.notNull())
    .addColumn('completion_tokens', 'bigint', (column) => column.notNull())
    .addColumn('cached_tokens', 'bigint')
    .addColumn('reasoning_tokens', 'bigint')
    .addColumn('estimated', 'bigint', (column) => column.notNull().check(sql`estimated in (0, 1)`))
    .addColumn('cost', 'bigint', (column) => column.notNull().check(sql.raw(`cost between 0 and ${amountBound}`)))
    .addColumn('attempts', 'bigint', (column) => column.notNull())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('first_token_ms', 'bigint')
    .addColumn('duration_ms', 'bigint', (column) => column.notNull())
    .execute();

  for (const [name, columns] of [
    ['keys_of_workspace', ['keys', 'workspace_id']],
    ['credits_of_workspace', ['credits', 'workspace_id']],
    ['ledger_by_time', ['ledger', 'started_at']],
    ['ledger_of_workspace', ['ledger', 'workspace_id', 'started_at']],
    ['ledger_of_key', ['ledger', 'key_id', 'started_at']],
  ] as const) {
    const [table, ...indexed] = columns;
    await schema.createIndex(name).on(table).columns(indexed).execute();
  }
}
