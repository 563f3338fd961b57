import { type Kysely, Transaction } from 'kysely';
import type { Schema } from './schema.ts';

/** Runs reads that all see the database as of one moment, whatever is written meanwhile; in a transaction as of its own moment. */
export async function atOneMoment<Result>(
  queries: Kysely<Schema>,
  read: (transaction: Transaction<Schema>) => Promise<Result>,
): Promise<Result> {
  if (queries instanceof Transaction) return read(queries);
  return queries.transaction().setAccessMode('read only').setIsolationLevel('repeatable read').execute(read);
}
