import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { addAlerts, addTagAlerts } from './alert-tables.ts';
import { createAuditTrail } from './audit-table.ts';
import { addDeclarations, addOverrides } from './declaration-tables.ts';
import { addIdentities } from './identity-tables.ts';
import { addFailures, addRefusals, addStatements, addTags, createLedger } from './ledger-tables.ts';
import { addOutbox, addOutboxCounts } from './outbox-tables.ts';
import type { Schema } from './schema.ts';
import { addTeams } from './team-tables.ts';
import { addLocalUsers } from './user-tables.ts';
import { addVectorReferences } from './vector-tables.ts';

/**
 * Whether the tables have the form of this version. Also false if the database cannot be read: the next query then
 * reports the error.
 */
export async function isUpToDate(database: Kysely<Schema>, changes = migrations): Promise<boolean> {
  return (await applied(database)) === Object.keys(changes).toSorted().at(-1);
}

/**
 * Brings the tables up to date. Safe to call from several processes at once: they take turns under SQLite's write lock
 * or an advisory lock of PostgreSQL. Throws if the tables were made by a newer version or by one before 0.1.0, and if a
 * change fails; that change is then rolled back. Tests that need the tables of an earlier version pass its changes.
 */
export async function migrate(database: Kysely<Schema>, changes = migrations): Promise<void> {
  if (await isUpToDate(database, changes)) return;
  // Loaded only when there is something to do, since every command opens the tables.
  const { Migrator } = await import('kysely/migration');
  const schema = await currentSchema(database);
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: async () => ({ ...changes }) },
    // Without the schema, Kysely would mistake tables of another application for ours.
    ...(schema === undefined ? {} : { migrationTableSchema: schema }),
  });
  const known = new Set(Object.keys(changes));
  const unknown = (await migratedNames(database)).find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new Error(
      `its tables come from a newer version of Weir (${unknown} is not known here), or by one before 0.1.0`,
    );
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

// A bound on every amount, a little below 64 bits. SQLite turns a sum past 64 bits into a float without an error.
const amountBound = '9000000000000000000';

/**
 * The changes of the tables, oldest first, for SQLite and PostgreSQL alike: text and 64-bit integers. A dialect's own words are used
 * only for triggers and for the tables of the ledger (`ledger-tables.ts`), whose rows are many. A migration that has been released is
 * never edited: add another one.
 */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001-accounts-and-ledger': { up: createAccountsAndLedger },
  '0002-portal': { up: addPortal },
  '0003-playground-keys': { up: addPlaygroundKeys },
  '0004-accounts-in-git': { up: (database) => addDeclarations(database, amountBound) },
  '0005-audit-of-object': { up: addAuditOfObject },
  '0006-alerts': { up: addAlerts },
  '0007-tags': { up: (database) => addTags(database, amountBound) },
  '0008-teams': { up: addTeams },
  '0009-alerts-of-tags': { up: addTagAlerts },
  '0010-inherited-spending': { up: addInheritedSpending },
  '0011-failures': { up: addFailures },
  '0012-refusals': { up: addRefusals },
  '0013-overrides': { up: addOverrides },
  '0014-identities': { up: (database) => addIdentities(database, amountBound) },
  '0015-statements': { up: addStatements },
  '0016-tokens-a-minute': { up: addTokensPerMinute },
  '0017-outbox': { up: addOutbox },
  '0018-vector-references': { up: addVectorReferences },
  '0019-local-users': { up: addLocalUsers },
  '0020-outbox-counts': { up: addOutboxCounts },
};

/** Adds limits in tokens a minute, and which limits only count. */
async function addTokensPerMinute({ schema }: Kysely<unknown>): Promise<void> {
  for (const table of ['workspaces', 'keys', 'identities']) {
    await schema.alterTable(table).addColumn('tokens_per_minute', 'bigint').execute();
    await schema.alterTable(table).addColumn('not_enforced', 'text').execute();
  }
  await schema.alterTable('workspaces').addColumn('tag_tokens_per_minute', 'text').execute();
}

/** Lists of keys show who made each key: the first entry of the key in the audit trail. */
async function addAuditOfObject({ schema }: Kysely<unknown>): Promise<void> {
  await schema.createIndex('audit_of_object').on('audit').columns(['object_id', 'id']).execute();
}

/** Adds what a key inherited of its budget's use from the keys that it replaces. */
async function addInheritedSpending({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('inherited_spending')
    .addColumn('key_id', 'text', (column) => column.notNull().references('keys.id'))
    .addColumn('day', 'bigint', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull().check(within('amount')))
    .execute();
  await schema.createIndex('inherited_by_key').on('inherited_spending').columns(['key_id', 'day']).execute();
}

/** Adds the person whose playground a key is for. A person has one such key in a workspace, besides revoked ones. */
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

async function createAccountsAndLedger(database: Kysely<unknown>): Promise<void> {
  await createAccounts(database);
  await createAuditTrail(database, ['command-line', 'admin-token', 'portal-user']);
  await createLedger(database, amountBound);
}

async function createAccounts({ schema }: Kysely<unknown>): Promise<void> {
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
    .addColumn('name', 'text')
    .addColumn('expires_at', 'bigint')
    .addColumn('models', 'text')
    .execute();
  await schema.createIndex('keys_of_workspace').on('keys').column('workspace_id').execute();

  await schema
    .createTable('credits')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull().references('workspaces.id'))
    .addColumn('amount', 'bigint', (column) => column.notNull().check(within('amount')))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('note', 'text')
    .execute();
  await schema.createIndex('credits_of_workspace').on('credits').column('workspace_id').execute();

  await schema
    .createTable('spending')
    .addColumn('key_id', 'text', (column) => column.notNull().references('keys.id'))
    .addColumn('day', 'bigint', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull().check(within('amount')))
    .addColumn('last_used_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('spending_of_key', ['key_id', 'day'])
    .execute();

  // The requests under way, as each replica last reported them.
  await schema
    .createTable('reservations')
    .addColumn('replica', 'text', (column) => column.notNull())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addColumn('as_of', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('reservation_of_replica', ['replica', 'workspace_id'])
    .execute();

  // Secrets that all processes of one database share.
  await schema
    .createTable('secrets')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute();
}

function within(column: string) {
  return sql.raw(`${column} between -${amountBound} and ${amountBound}`);
}

/** Adds the portal's sessions, the first characters of keys, and the idempotency key of credits. */
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
