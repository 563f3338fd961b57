import type { Kysely, Selectable, Transaction } from 'kysely';
import type { AuditAction, Authorship } from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import { listBounds } from '../../core/limits.ts';
import { scopes } from '../core/rights.ts';
import { type NewServiceAccount, type ServiceAccount, serviceAccountFields } from '../core/service-account.ts';
import { fieldsOfRow } from '../databases/account-columns.ts';
import type { Schema } from '../databases/schema.ts';
import { recordChange } from './audit.ts';
import { hashKey, keptPrefix, looksLikeToken, newToken } from './key-text.ts';
import { refuseBeyond, refuseMore } from './list-bounds.ts';
import { findWorkspace, newId } from './workspaces.ts';

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The last use is written at most this often, so that a script with many calls does not write at each. */
const usedEveryMs = 60_000;

/**
 * Makes a service account. The text of its token is only in the result and stored nowhere. Throws a `Refusal` for a name
 * that is in use or is no name, for no scope, for an expiry that has passed, and if there is no such workspace.
 */
export async function createServiceAccount(
  queries: Kysely<Schema>,
  wanted: NewServiceAccount,
  by: Authorship,
): Promise<{ readonly account: ServiceAccount; readonly token: string }> {
  const { name, expiresAt } = wanted;
  if (!namePattern.test(name)) {
    const form = 'letters, digits, ".", "_" and "-", at most 64';
    throw refusal('name_malformed', { name, what: 'a service account', form });
  }
  if (wanted.scopes.length === 0) throw refusal('service_account_without_scope');
  if (wanted.workspaces?.length === 0) throw refusal('service_account_without_workspace');
  // As many as there may be are fine: one more is refused.
  refuseBeyond((wanted.workspaces?.length ?? 1) - 1, listBounds.maxServiceAccountWorkspaces, {
    ...{ list: 'A service account', entries: 'workspaces', field: 'workspaces' },
  });
  if (expiresAt <= by.now) {
    throw refusal('expiry_passed', { what: 'A service account', moment: new Date(expiresAt).toISOString() });
  }
  const token = newToken();
  return queries.transaction().execute(async (transaction) => {
    const ids = new Set<string>();
    for (const one of wanted.workspaces ?? []) ids.add((await findWorkspace(transaction, one)).id);
    const workspaces = wanted.workspaces === undefined ? undefined : [...ids];
    await refuseMoreAccounts(transaction, by);
    const row = {
      ...{ id: newId('sa'), name, hash: hashKey(token), prefix: keptPrefix(token) },
      scopes: scopes.filter((scope) => wanted.scopes.includes(scope)).join(','),
      workspaces: workspaces?.join(',') ?? null,
      ...{ created_at: BigInt(by.now), expires_at: BigInt(expiresAt), revoked_at: null, last_used_at: null },
    };
    const inserted = await transaction
      .insertInto('service_accounts')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    if (inserted.numInsertedOrUpdatedRows !== 1n) throw refusal('service_account_exists', { name });
    const account = accountOf(row);
    await record(transaction, { action: 'service-account.create', before: undefined, after: account }, by);
    return { account, token };
  });
}

async function refuseMoreAccounts(transaction: Transaction<Schema>, { now }: Authorship): Promise<void> {
  const rows = transaction
    .selectFrom('service_accounts')
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', BigInt(now));
  const entries = 'service accounts that are neither revoked nor expired';
  await refuseMore(rows, listBounds.maxServiceAccounts, { list: 'An installation', entries, field: 'name' });
}

/** All service accounts, newest first, with revoked ones. `workspaceId`: only those with rights in this workspace. */
export async function listServiceAccounts(
  queries: Kysely<Schema>,
  workspaceId?: string,
): Promise<readonly ServiceAccount[]> {
  const rows = await queries
    .selectFrom('service_accounts')
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute();
  return rows
    .map(accountOf)
    .filter(({ workspaces }) => workspaceId === undefined || (workspaces?.includes(workspaceId) ?? true));
}

/** Ends a service account for good, by its name or id. Repeating it changes nothing. Throws a `Refusal` if there is none. */
export async function revokeServiceAccount(
  queries: Kysely<Schema>,
  nameOrId: string,
  by: Authorship,
): Promise<ServiceAccount> {
  return queries.transaction().execute(async (transaction) => {
    const rows = await transaction
      .selectFrom('service_accounts')
      .selectAll()
      .where((where) => where.or([where('id', '=', nameOrId), where('name', '=', nameOrId)]))
      .orderBy('created_at', 'desc')
      .execute();
    // A name may have been used before, by accounts that are revoked.
    const row = rows.find(({ revoked_at: revokedAt }) => revokedAt === null) ?? rows[0];
    if (row === undefined) throw refusal('service_account_not_found', { account: nameOrId });
    if (row.revoked_at !== null) return accountOf(row);
    const change = { revoked_at: BigInt(by.now) };
    await transaction
      .updateTable('service_accounts')
      .set(change)
      .where('id', '=', row.id)
      .where('revoked_at', 'is', null)
      .execute();
    const after = accountOf({ ...row, ...change });
    await record(transaction, { action: 'service-account.revoke', before: accountOf(row), after }, by);
    return after;
  });
}

/**
 * Finds a service account by its token, whatever its state, and notes the use of one that works. Undefined: there is none.
 * A text without the shape of a token is not looked up.
 */
export async function findServiceAccount(
  queries: Kysely<Schema>,
  token: string,
  now: number,
): Promise<ServiceAccount | undefined> {
  if (!looksLikeToken(token)) return undefined;
  const row = await queries
    .selectFrom('service_accounts')
    .selectAll()
    .where('hash', '=', hashKey(token))
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { id, last_used_at: last, revoked_at: revokedAt, expires_at: expiresAt } = row;
  const isUsed = revokedAt === null && Number(expiresAt) > now;
  if (isUsed && (last === null || Number(last) <= now - usedEveryMs)) {
    await queries
      .updateTable('service_accounts')
      .set({ last_used_at: BigInt(now) })
      .where('id', '=', id)
      .execute();
  }
  return accountOf(row);
}

async function record(
  transaction: Transaction<Schema>,
  change: {
    readonly action: AuditAction & `service-account.${string}`;
    readonly before: ServiceAccount | undefined;
    readonly after: ServiceAccount;
  },
  by: Authorship,
): Promise<void> {
  const { action, before, after } = change;
  const [only, other] = after.workspaces ?? [];
  // Members of the workspace see the entry, if there is only one.
  const workspaceId = other === undefined ? only : undefined;
  const objects = { before: before && shown(before), after: shown(after) };
  await recordChange(transaction, { action, objectId: after.id, workspaceId, ...objects }, by);
}

/** The part of a service account that the audit trail has. */
function shown({ name, scopes: given, workspaces, expiresAt, revokedAt }: ServiceAccount) {
  return {
    ...{ name, scopes: given, workspaces: workspaces ?? 'all', expires_at: new Date(expiresAt).toISOString() },
    status: revokedAt === undefined ? 'active' : 'revoked',
  };
}

function accountOf(row: Selectable<Schema['service_accounts']>): ServiceAccount {
  const given = row.scopes.split(',');
  return {
    ...fieldsOfRow(serviceAccountFields, row),
    // A scope of a later version gives no right here.
    scopes: scopes.filter((scope) => given.includes(scope)),
    workspaces: row.workspaces?.split(','),
    revokedAt: row.revoked_at === null ? undefined : Number(row.revoked_at),
  };
}
