import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Schema } from '../databases/schema.ts';

const secretBytes = 32;
/** The row of the secret, named after its use: it keys the digests by which a conversation finds its endpoint. */
const name = 'affinity';

/** A secret of this process alone. */
export const newSecret = (): string => randomBytes(secretBytes).toString('hex');

/**
 * Reads the secret that all processes with this database share, and makes it where there is none. Processes that make it at the
 * same moment all get the one whose row was first. Writes only where the row is missing, so a database that takes no writes for
 * now answers, too. Rejects as the database does.
 *
 * The database has it because replicas have nothing else in common in every kind of deployment: Valkey is optional and forgets,
 * and an operator would have to make a file or a Secret.
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
