import { type Kysely, sql } from 'kysely';
import { migrations } from './migrations.ts';
import type { Schema } from './schema.ts';

/** Whether the tables are as this version has them. Rejects only when the database does not answer at the next query either. */
export async function isUpToDate(database: Kysely<Schema>, changes = migrations): Promise<boolean> {
  return (await applied(database)) === Object.keys(changes).toSorted().at(-1);
}

/**
 * Brings the tables up to date. Safe to call from several processes at once: they take turns under the write lock of SQLite, an advisory lock of PostgreSQL.
 * Throws when the tables were made by a newer version, or when a change fails (nothing of it is then kept). Tests that need the
 * tables of an earlier version name its changes.
 */
export async function migrate(database: Kysely<Schema>, changes = migrations): Promise<void> {
  if (await isUpToDate(database, changes)) return;
  // Loaded only when there is something to do: the command line opens the tables on each call.
  const { Migrator } = await import('kysely/migration');
  const schema = await currentSchema(database);
  const migrator = new Migrator({
    ...{ db: database, provider: { getMigrations: async () => ({ ...changes }) } },
    // Without it, the tables of somebody else in another schema of the database are taken for ours.
    ...(schema === undefined ? {} : { migrationTableSchema: schema }),
  });
  const known = new Set(Object.keys(changes));
  const stranger = (await migratedNames(database)).find((name) => !known.has(name));
  if (stranger !== undefined) {
    throw new Error(`its tables were made by a newer version of Weir (${stranger} is not known here)`);
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
    return []; // A new database has no such table; any other trouble comes back at the next query.
  }
}
