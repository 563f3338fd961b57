import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { createAccounts } from './account-tables.ts';
import { createLedger } from './ledger-tables.ts';
import type { Schema } from './schema.ts';

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
 * change fails; that change is then rolled back. Tests pass further changes.
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
  await renameSteps(database);
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

/** The last of the twenty steps that made the tables of the first version while it was developed, and the change that they are now. */
const lastStep = '0020-outbox-counts';
const firstVersion = '0001-first-version';

/** Tables that all of the steps have made are those of the first version. Each statement does nothing the second time. */
async function renameSteps(database: Kysely<Schema>): Promise<void> {
  if ((await applied(database)) !== lastStep) return;
  await database.transaction().execute(async (transaction) => {
    await sql`update kysely_migration set name = ${firstVersion} where name = ${lastStep}`.execute(transaction);
    await sql`delete from kysely_migration where name <> ${firstVersion}`.execute(transaction);
  });
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

/**
 * The changes of the tables, oldest first, for SQLite and PostgreSQL alike: text and 64-bit integers; the tables of the ledger, whose
 * rows are many, have smaller ones. A migration that has been released is never edited: add another one.
 */
export const migrations: Readonly<Record<string, Migration>> = {
  [firstVersion]: {
    up: async (database) => {
      await createAccounts(database);
      await createLedger(database);
    },
  },
};
