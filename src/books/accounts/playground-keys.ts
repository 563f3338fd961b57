import type { Kysely, Selectable } from 'kysely';
import type { Authorship, PlaygroundKey } from '../core/administration.ts';
import { derivedKey, hashKey, keptPrefix } from './key-text.ts';
import { findKey, keyColumns, recordKey } from './keys.ts';
import type { Schema } from '../databases/schema.ts';
import { readSharedSecret } from './shared-secret.ts';
import { newId } from './workspaces.ts';

/** Most attempts while other portals make or renew the key at the same moment. Usually the second one finds their key. */
const maxTries = 5;

/**
 * The text of the key with which the portal calls the gateway for one person. It is stored nowhere: every portal
 * derives it from the secret of the database, the key's id and its expiry. A key is made if the person has none, or
 * only revoked ones. The key gets a new text before the old one expires, and at once if the gateway has refused it.
 * Rejects with a `Refusal` if the workspace is gone.
 */
export async function playgroundKey(queries: Kysely<Schema>, wanted: PlaygroundKey, by: Authorship): Promise<string> {
  const secret = await readSharedSecret(queries);
  for (let tries = 0; tries < maxTries; tries += 1) {
    const row = await queries
      .selectFrom('keys')
      .selectAll()
      .where('workspace_id', '=', wanted.workspace)
      .where('playground_of', '=', wanted.owner)
      .where('status', '<>', 'revoked')
      .executeTakeFirst();
    const known = row && goodText(row, wanted, { now: by.now, secret });
    if (known !== undefined) return known;
    const made = await (row === undefined
      ? create(queries, wanted, { by, secret })
      : renew(queries, row, { wanted, by, secret }));
    if (made !== undefined) return made;
  }
  throw new Error('the key of a playground was changed at the same moment, again and again');
}

interface Making {
  readonly by: Authorship;
  readonly secret: string;
}

function textOf(id: string, expiresAt: number, secret: string): string {
  return derivedKey(`weir-playground-key ${id} ${expiresAt}`, secret);
}

/** The text of the key, if it may be used now. Undefined: the key needs a new text. */
function goodText(
  row: Selectable<Schema['keys']>,
  { textMs, spareMs, refused }: PlaygroundKey,
  { now, secret }: { readonly now: number; readonly secret: string },
): string | undefined {
  const expiresAt = Number(row.expires_at ?? 0);
  // A text that lasts longer than a new one was made before the clock was set back.
  if (expiresAt - spareMs <= now || expiresAt > now + textMs + spareMs) return undefined;
  const text = textOf(row.id, expiresAt, secret);
  // The text does not fit the hash if the expiry was changed by hand, or the database was restored beside another
  // secret.
  return text !== refused && hashKey(text) === row.hash ? text : undefined;
}

/** Makes the key. Undefined: another portal was faster. */
async function create(
  queries: Kysely<Schema>,
  wanted: PlaygroundKey,
  { by, secret }: Making,
): Promise<string | undefined> {
  const id = newId('key');
  const expiresAt = by.now + wanted.textMs;
  const text = textOf(id, expiresAt, secret);
  const columns = keyColumns({ ...wanted, id, text, expiresAt, playgroundOf: wanted.owner }, by);
  return queries.transaction().execute(async (transaction) => {
    const { numInsertedOrUpdatedRows: inserted } = await transaction
      .insertInto('keys')
      .values({ ...columns, workspace_id: wanted.workspace })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    if (inserted !== 1n) return undefined;
    const after = await findKey(transaction, id);
    await recordKey(transaction, { action: 'key.create', before: undefined, after }, by);
    return text;
  });
}

/** Gives the key a new text. Undefined: another portal was faster, or the key was revoked meanwhile. */
async function renew(
  queries: Kysely<Schema>,
  { id, hash, name, expires_at: expires }: Selectable<Schema['keys']>,
  { wanted, by, secret }: Making & { readonly wanted: PlaygroundKey },
): Promise<string | undefined> {
  const endsAt = Number(expires ?? 0);
  const usual = by.now + wanted.textMs;
  // The text depends on the expiry, so a change of one millisecond gives another text.
  const expiresAt = endsAt >= usual && endsAt < usual + wanted.spareMs ? endsAt + 1 : usual;
  const text = textOf(id, expiresAt, secret);
  const { name: newName, expires_at: newExpiry } = keyColumns(
    { ...wanted, id, text, expiresAt, playgroundOf: wanted.owner },
    by,
  );
  return queries.transaction().execute(async (transaction) => {
    const { numUpdatedRows: updated } = await transaction
      .updateTable('keys')
      .set({ hash: hashKey(text), prefix: keptPrefix(text), name: newName, expires_at: newExpiry })
      .where('id', '=', id)
      .where('hash', '=', hash)
      .where('status', '<>', 'revoked')
      .executeTakeFirst();
    if (updated !== 1n) return undefined;
    const after = await findKey(transaction, id);
    const before = { ...after, name: name ?? undefined, expiresAt: expires === null ? undefined : endsAt };
    await recordKey(transaction, { action: 'key.update', before, after }, by);
    return text;
  });
}
