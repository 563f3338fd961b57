import { type Kysely, type RawBuilder, type Selectable, sql, type SqlBool, type Transaction } from 'kysely';
import { type Key, keyFields, type Workspace } from '../../core/account.ts';
import {
  type Actor,
  type AuditAction,
  type Authorship,
  type KeyDetails,
  type KeyLabel,
  type KeyRecord,
  type NewKey,
  type Page,
  type PageRequest,
  cutPage,
} from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import type { DeclaredKey } from '../core/declared-account.ts';
import { listBounds } from '../../core/limits.ts';
import { shownFields } from '../core/shown.ts';
import { columnsOf, fieldsOfRow } from '../databases/account-columns.ts';
import { byIds } from '../databases/by-ids.ts';
import { recordChange } from './audit.ts';
import { hashKey, keptPrefix, newKey } from './key-text.ts';
import { refuseMore } from './list-bounds.ts';
import { afterCursor, cursorOf } from '../databases/page-cursor.ts';
import type { Schema } from '../databases/schema.ts';
import { findWorkspace, newId, oneLine } from './workspaces.ts';

/**
 * Makes a key. Its text is only in the result and stored nowhere. Throws a `Refusal` when there is no such workspace, for a name of
 * several lines, for an expiry that has passed, and if the workspace has as many keys as it may have.
 */
export async function createKey(
  queries: Kysely<Schema>,
  wanted: NewKey,
  by: Authorship,
): Promise<{ readonly key: KeyRecord; readonly text: string }> {
  const text = newKey();
  const columns = keyColumns({ ...wanted, text, id: newId('key'), playgroundOf: null }, by);
  return queries.transaction().execute(async (transaction) => {
    const workspace = await findWorkspace(transaction, wanted.workspace);
    await refuseMoreKeys(transaction, workspace.id, by);
    const row = { ...columns, workspace_id: workspace.id };
    await transaction.insertInto('keys').values(row).execute();
    const key = recordOf({ ...row, workspace_name: workspace.name, identity_name: null, last_used_at: null });
    await recordKey(transaction, { action: 'key.create', before: undefined, after: key }, by);
    return { key, text };
  });
}

/** A key of which only the hash and the first characters are known, in a transaction. Throws a `Refusal` like `createKey`. */
export async function insertKey(
  transaction: Transaction<Schema>,
  { hash, prefix, workspaceId, ...wanted }: DeclaredKey,
  by: Authorship,
): Promise<KeyRecord> {
  await refuseMoreKeys(transaction, workspaceId, by);
  const id = newId('key');
  const row = {
    ...{ id, hash, prefix, workspace_id: workspaceId, ...withText },
    created_at: BigInt(by.now),
    ...columnsOf(keyFields, checkedDetails(wanted, by)),
  };
  await transaction.insertInto('keys').values(row).execute();
  const after = await findKey(transaction, id);
  await recordKey(transaction, { action: 'key.create', before: undefined, after }, by);
  return after;
}

/** Columns of a key whose text a caller has. */
const withText = { playground_of: null, maker: null, identity_id: null, subject: null } as const;

/** Throws a `Refusal` if the workspace has as many keys as it may have. */
export async function refuseMoreKeys(
  transaction: Transaction<Schema>,
  workspaceId: string,
  { now }: Authorship,
): Promise<void> {
  const rows = transaction
    .selectFrom('keys')
    .where('workspace_id', '=', workspaceId)
    .where('status', '<>', 'revoked')
    .where('playground_of', 'is', null)
    .where('identity_id', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', BigInt(now))]));
  const entries = 'keys that are neither revoked nor expired';
  await refuseMore(rows, listBounds.maxKeys, { list: 'A workspace', entries, field: 'workspace' });
}

type WithText = Omit<NewKey, 'workspace'> & {
  readonly id: string;
  readonly text: string;
  readonly playgroundOf: string | null;
};

/** The row of a new key, without its workspace. Throws a `Refusal` like `createKey`. */
export function keyColumns(key: WithText, by: Authorship): Omit<Schema['keys'], 'workspace_id'> {
  return {
    id: key.id,
    hash: hashKey(key.text),
    prefix: keptPrefix(key.text),
    created_at: BigInt(by.now),
    ...columnsOf(keyFields, { ...checkedDetails(key, by), status: 'active' }),
    ...withText,
    playground_of: key.playgroundOf,
    maker: key.maker ?? null,
  };
}

/** All keys, or those of one workspace, oldest first, with the keys of the portal's playground. */
export async function listKeys(queries: Kysely<Schema>, workspace?: Workspace): Promise<readonly KeyRecord[]> {
  let query = records(queries).orderBy('keys.created_at').orderBy('keys.id');
  if (workspace) query = query.where('keys.workspace_id', '=', workspace.id);
  return (await query.execute()).map(recordOf);
}

/**
 * The keys of one workspace, newest first, without those of the portal's playground: no member has their texts.
 * `search`: only keys whose name, id or first characters contain this text, in any case.
 */
export async function pageOfKeys(
  queries: Kysely<Schema>,
  workspaceId: string,
  { limit, cursor, search }: PageRequest & { readonly search?: string | undefined },
): Promise<Page<KeyRecord>> {
  const rows = await records(queries)
    .where('keys.workspace_id', '=', workspaceId)
    .where('keys.playground_of', 'is', null)
    .where(search === undefined ? sql<SqlBool>`1 = 1` : containing(search))
    .where(afterCursor('keys', cursor))
    .orderBy('keys.created_at', 'desc')
    .orderBy('keys.id', 'desc')
    .limit(limit + 1)
    .execute();
  return cutPage(rows.map(recordOf), limit, cursorOf);
}

/** The accounts of an identity by name, at most `limit`. */
export async function accountsOfIdentity(
  queries: Kysely<Schema>,
  identityId: string,
  limit: number,
): Promise<readonly KeyRecord[]> {
  const rows = records(queries).where('keys.identity_id', '=', identityId);
  return (await rows.orderBy('keys.name').orderBy('keys.id').limit(limit).execute()).map(recordOf);
}

function containing(search: string): RawBuilder<SqlBool> {
  const pattern = `%${search.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`;
  const texts = ['keys.name', 'keys.id', 'keys.prefix'].map(
    (column) => sql<SqlBool>`lower(coalesce(${sql.ref(column)}, '')) like ${pattern} escape '\\'`,
  );
  return sql`(${sql.join(texts, sql` or `)})`;
}

/** Who made keys, by the ids of the keys. Keys of the commands of older versions may be missing. */
export async function keyMakers(queries: Kysely<Schema>, ids: readonly string[]): Promise<ReadonlyMap<string, Actor>> {
  if (ids.length === 0) return new Map();
  const rows = await queries
    .selectFrom('audit')
    .select(['object_id', 'actor_kind', 'actor_name'])
    .where('object_id', 'in', ids)
    .where('action', '=', 'key.create')
    .execute();
  return new Map(rows.map((row) => [row.object_id, { kind: row.actor_kind, name: row.actor_name }]));
}

/** Names of keys by their ids; keys without a name are missing. */
export async function keyNames(queries: Kysely<Schema>, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await byIds(ids, (some) =>
    queries.selectFrom('keys').select(['id', 'name']).where('id', 'in', some).execute(),
  );
  return new Map(rows.flatMap(({ id, name }) => (name === null ? [] : [[id, name]])));
}

/** Names and workspaces of keys by their ids. */
export async function keyLabels(
  queries: Kysely<Schema>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, KeyLabel>> {
  const rows = await byIds(ids, (some) =>
    queries
      .selectFrom('keys')
      .innerJoin('workspaces', 'workspaces.id', 'keys.workspace_id')
      .select(['keys.id', 'keys.name', 'workspaces.name as workspace'])
      .where('keys.id', 'in', some)
      .execute(),
  );
  return new Map(rows.map(({ id, name, workspace }) => [id, { name: name ?? undefined, workspace }]));
}

/** The user of a key: its name, its workspace, and the identity whose account it is. */
export type KeyOwner = Awaited<ReturnType<typeof keyOwners>> extends ReadonlyMap<string, infer Owner> ? Owner : never;

/** The owners of keys by their ids. */
export async function keyOwners(queries: Kysely<Schema>, ids: readonly string[]) {
  const rows = await byIds(ids, (some) =>
    queries
      .selectFrom('keys')
      .leftJoin('identities', 'identities.id', 'keys.identity_id')
      .select(['keys.id', 'keys.name', 'keys.workspace_id as workspaceId'])
      .select(['identities.id as identity', 'identities.name as identityName'])
      .where('keys.id', 'in', some)
      .execute(),
  );
  return new Map(rows.map(({ id, ...owner }) => [id, owner]));
}

/** Finds and locks a key that is about to be changed: no other process changes it until the transaction ends. */
export async function lockKey(transaction: Transaction<Schema>, id: string): Promise<KeyRecord> {
  await transaction
    .updateTable('keys')
    .set((columns) => ({ status: columns.ref('status') }))
    .where('id', '=', id)
    .execute();
  return findKey(transaction, id);
}

/** Finds a key by its id. Throws a `Refusal` when there is none. */
export async function findKey(queries: Kysely<Schema>, id: string): Promise<KeyRecord> {
  const row = await records(queries).where('keys.id', '=', id).executeTakeFirst();
  if (!row) throw refusal('key_not_found', { id });
  return recordOf(row);
}

function records(queries: Kysely<Schema>) {
  return queries
    .selectFrom('keys')
    .innerJoin('workspaces', 'workspaces.id', 'keys.workspace_id')
    .leftJoin('identities', 'identities.id', 'keys.identity_id')
    .selectAll('keys')
    .select(['workspaces.name as workspace_name', 'identities.name as identity_name'])
    .select((row) =>
      row
        .selectFrom('spending')
        .whereRef('spending.key_id', '=', 'keys.id')
        // The row of the last day has the moment of the last use. So one row of the index is read, however long the key
        // has been in use.
        .orderBy('spending.day', 'desc')
        .limit(1)
        .select('spending.last_used_at')
        .as('last_used_at'),
    );
}

export async function recordKey(
  transaction: Transaction<Schema>,
  changed: {
    readonly action: AuditAction;
    readonly before: KeyRecord | undefined;
    readonly after: KeyRecord;
    readonly override?: true | undefined;
  },
  by: Authorship,
): Promise<void> {
  const { action, before, after, override } = changed;
  const { id: objectId, workspaceId } = after;
  const entry = {
    action,
    objectId,
    workspaceId,
    before: before && shownFields(keyFields, before),
    after: { ...shownFields(keyFields, after), override },
  };
  await recordChange(transaction, entry, by);
}

/** Reads a key from its row. */
export function keyOf(row: Selectable<Schema['keys']>): Key {
  return { id: row.id, workspaceId: row.workspace_id, ...fieldsOfRow(keyFields, row) };
}

interface KeyRow extends Selectable<Schema['keys']> {
  readonly workspace_name: string;
  readonly identity_name: string | null;
  readonly last_used_at: bigint | null;
}

function recordOf(row: KeyRow): KeyRecord {
  const { workspace_name: workspaceName, identity_id: id, identity_name: name, last_used_at: lastUsedAt } = row;
  return {
    ...keyOf(row),
    workspaceName,
    prefix: row.prefix ?? undefined,
    isOfPlayground: row.playground_of !== null,
    maker: row.maker ?? undefined,
    identity: id === null || name === null ? undefined : { id, name, subject: row.subject ?? undefined },
    createdAt: Number(row.created_at),
    lastUsedAt: lastUsedAt === null ? undefined : Number(lastUsedAt),
  };
}

/** Throws a `Refusal` for a name of several lines, and for an expiry that has passed. */
export function checkedDetails<Details extends KeyDetails>(details: Details, { actor, now }: Authorship): Details {
  const { name, expiresAt } = details;
  // An object declares a state, and it goes on declaring it when the moment has passed.
  if (expiresAt !== undefined && expiresAt <= now && actor.kind !== 'controller') {
    throw refusal('expiry_passed', { what: 'A key', moment: new Date(expiresAt).toISOString() });
  }
  if (name === undefined) return details;
  const { maxLength: max } = keyFields.name;
  return { ...details, name: oneLine(name, { what: 'The name of a key', max, field: 'name' }) };
}
