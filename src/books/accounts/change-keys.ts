import type { Kysely, Transaction, Updateable } from 'kysely';
import { changedFields } from '../../core/account-field.ts';
import { keyFields } from '../../core/account.ts';
import type { AuditAction, Authorship, KeyChange, KeyRecord } from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import { columnsOf } from '../databases/account-columns.ts';
import type { Schema } from '../databases/schema.ts';
import { overrideDeclared, refuseDeclared } from './declarations.ts';
import { checkedDetails, findKey, lockKey, recordKey } from './keys.ts';
import { limitSessionsOf } from './sessions.ts';
import { changeThresholds } from './thresholds.ts';

const statusActions = { active: 'key.resume', suspended: 'key.suspend', revoked: 'key.revoke' } as const;

/**
 * Makes changes of a key in one transaction: all of them or none. Throws a `Refusal` if a revoked key is to be suspended or
 * activated, if an object declares it and `override` is not given, if it is the account of an identity and more than its status is
 * to be changed, and for a name and an expiry like `createKey`.
 */
export async function changeKey(
  queries: Kysely<Schema>,
  id: string,
  wanted: KeyChange,
  by: Authorship,
): Promise<KeyRecord> {
  return queries.transaction().execute(async (transaction) => {
    if (wanted.override === true) await overrideDeclared(transaction, id, wanted.status);
    else await refuseDeclared(transaction, id, by);
    await refuseOfIdentity(transaction, id, wanted);
    return changeLockedKey(transaction, id, wanted, by);
  });
}

/** The limits of the account of an identity are those of the identity. One subject can be kept out. */
async function refuseOfIdentity(transaction: Transaction<Schema>, id: string, wanted: KeyChange): Promise<void> {
  if (changedFields(keyFields, wanted).length === 0) return;
  const { identity } = await findKey(transaction, id);
  if (identity !== undefined) throw refusal('key_of_identity', { id, identity: identity.id });
}

/**
 * Like `changeKey`, in a transaction, also for the object that declares the key. The key is locked, so no other process changes it
 * between the read and the write. Each kind of change has its entry in the audit trail.
 */
export async function changeLockedKey(
  transaction: Transaction<Schema>,
  id: string,
  wanted: KeyChange,
  by: Authorship,
): Promise<KeyRecord> {
  let key = await lockKey(transaction, id);
  const { status = key.status } = wanted;
  if (key.status === 'revoked' && status !== 'revoked') throw refusal('key_revoked', { id });
  for (const { action, columns } of changesOf(wanted, by)) {
    await transaction.updateTable('keys').set(columns).where('id', '=', id).execute();
    const after = await findKey(transaction, id);
    await recordKey(transaction, { action, before: key, after, override: wanted.override }, by);
    key = after;
  }
  if ('thresholds' in wanted) {
    const about = { action: 'key.thresholds', objectId: id, workspaceId: key.workspaceId } as const;
    await changeThresholds(transaction, { ...about, percents: wanted.thresholds }, by);
  }
  await limitSessionsOf(transaction, key);
  return key;
}

interface ColumnChange {
  readonly action: AuditAction;
  readonly columns: Updateable<Schema['keys']>;
}

function changesOf({ status, ...wanted }: KeyChange, by: Authorship): readonly ColumnChange[] {
  const changes = changedFields(keyFields, wanted);
  return [
    ...(status === undefined ? [] : [{ action: statusActions[status], columns: { status } }]),
    ...changes.map(({ action, fields }) => ({ action, columns: columnsOf(fields, checkedDetails(wanted, by)) })),
  ];
}
