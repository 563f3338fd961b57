import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Schema } from '../databases/schema.ts';

const secretBytes = 32;
/** The name of the secret's row. The secret is the key of the digests that map conversations to endpoints. */
const name = 'affinity';

/** Makes a secret of this process alone. */
export const newSecret = (): string => randomBytes(secretBytes).toString('hex');

/**
 * Reads the secret that all processes with this database share. Makes it if there is none. Processes that make it at
 * the same moment all get the secret whose row was first. Writes only if the row is missing, so a database that refuses
 * writes for now answers, too. Rejects with the error of the database.
 *
 * The secret is in the database because replicas share nothing else in every kind of deployment. Valkey is optional and
 * forgets. A file or a Secret would have to be made by an operator.
 */
export async function readSharedSecret(queries: Kysely<Schema>): Promise<string> {
  const known = await find(queries);
  if (known !== undefined) return known;
  const made = newSecret();
  await queries
    .insertInto('secrets')
    .values({ name, value: made })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  // The insert waits for another process that makes the row at this moment, so this statement finds the row that was first.
  return (await find(queries)) ?? made;
}

async function find(queries: Kysely<Schema>): Promise<string | undefined> {
  const row = await queries.selectFrom('secrets').select('value').where('name', '=', name).executeTakeFirst();
  return row?.value;
}
