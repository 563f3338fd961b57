import type { Kysely } from 'kysely';
import { isSqlite } from './sql-dialect.ts';

/** Adds the vectors that the routes of each embedding model are compared with (docs/concepts/same-vectors.md). */
export async function addVectorReferences(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('vector_references')
    .addColumn('model_id', 'text', (column) => column.primaryKey())
    .addColumn('route_id', 'text', (column) => column.notNull())
    .addColumn('upstream_model', 'text', (column) => column.notNull())
    .addColumn('texts', 'text', (column) => column.notNull())
    .addColumn('dimensions', 'bigint', (column) => column.notNull())
    .addColumn('vectors', isSqlite(database) ? 'blob' : 'bytea')
    .addColumn('since', 'bigint', (column) => column.notNull())
    .addColumn('seen_at', 'bigint', (column) => column.notNull())
    .execute();
}
