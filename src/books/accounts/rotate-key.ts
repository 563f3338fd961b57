import type { Kysely } from 'kysely';
import type { Authorship, KeyRecord } from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import type { Schema } from '../databases/schema.ts';
import { inheritSpending } from './budget-spending.ts';
import { refuseDeclared } from './declarations.ts';
import { newKey } from './key-text.ts';
import { findKey, keyColumns, lockKey, recordKey, refuseMoreKeys } from './keys.ts';
import { limitSessionsOf } from './sessions.ts';
import { copyThresholds } from './thresholds.ts';
import { newId } from './workspaces.ts';

export interface RotatedKey {
  readonly key: KeyRecord;
  /** The text of the new key, which is stored nowhere. */
  readonly text: string;
  /** The earlier key, with its new expiry. */
  readonly earlier: KeyRecord;
}

/**
 * Makes a key with the settings of another one, and lets the other one expire after the overlap, unless it expires
 * sooner. Both changes are made, or none. What the other one has spent in the period of its budget counts against the
 * budget of the new one. Until then each of the two may spend what is left. Throws a `Refusal` for a key that is
 * revoked, has expired, or belongs to an object or to the portal,
 * and if the workspace has as many keys as it may have.
 */
export async function rotateKey(
  queries: Kysely<Schema>,
  id: string,
  { overlapMs }: { readonly overlapMs: number },
  by: Authorship,
): Promise<RotatedKey> {
  return queries.transaction().execute(async (transaction) => {
    await refuseDeclared(transaction, id, by);
    const before = await lockKey(transaction, id);
    refuseUnusable(before, by);
    const text = newKey();
    const { workspaceId } = before;
    await refuseMoreKeys(transaction, workspaceId, by);
    const columns = keyColumns({ ...before, text, id: newId('key'), playgroundOf: null }, by);
    await transaction
      .insertInto('keys')
      .values({ ...columns, workspace_id: workspaceId, status: before.status })
      .execute();
    await copyThresholds(transaction, { from: id, to: columns.id });
    await inheritSpending(transaction, { from: id, to: columns.id }, by.now);
    const key = await findKey(transaction, columns.id);
    await recordKey(transaction, { action: 'key.create', before: undefined, after: key }, by);

    const expiresAt = Math.min(by.now + overlapMs, before.expiresAt ?? Number.MAX_SAFE_INTEGER);
    await transaction
      .updateTable('keys')
      .set({ expires_at: BigInt(expiresAt) })
      .where('id', '=', id)
      .execute();
    const earlier = await findKey(transaction, id);
    await recordKey(transaction, { action: 'key.rotate', before, after: earlier }, by);
    await limitSessionsOf(transaction, earlier);
    return { key, text, earlier };
  });
}

function refuseUnusable({ id, status, expiresAt, isOfPlayground, identity }: KeyRecord, { now }: Authorship): void {
  const why = isOfPlayground
    ? 'belongs to the portal'
    : identity !== undefined
      ? 'is the account of an identity and has no text'
      : status === 'revoked'
        ? 'was revoked'
        : expiresAt !== undefined && expiresAt <= now
          ? 'has expired'
          : undefined;
  if (why !== undefined) throw refusal('key_not_replaceable', { id, why });
}
