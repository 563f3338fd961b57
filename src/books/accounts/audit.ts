import type { Kysely, Transaction } from 'kysely';
import type { AuditedChange, AuditedObject, AuditEntry, AuditFilter, Authorship } from '../core/administration.ts';
import type { Schema } from '../databases/schema.ts';
import { noteEvent } from '../outbox/note-events.ts';

/**
 * Writes a change into the audit trail, in the transaction of the change, so that neither is kept without the other.
 * Writes nothing if the object stays as it was, for example at a second suspension.
 */
export async function recordChange(
  transaction: Transaction<Schema>,
  { action, objectId, workspaceId, before, after }: AuditedChange,
  { actor, now }: Authorship,
): Promise<void> {
  const [was, is] = [before === undefined ? null : JSON.stringify(before), JSON.stringify(after)];
  if (was === is) return;
  const { id } = await transaction
    .insertInto('audit')
    .values({
      at: BigInt(now),
      actor_kind: actor.kind,
      actor_name: actor.name,
      action,
      object_id: objectId,
      workspace_id: workspaceId ?? null,
      before: was,
      after: is,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await noteEvent(transaction, { kind: 'audit', ref: String(id), at: now });
}

/** The newest changes first, at most `limit` of them. */
export async function listAudit(
  queries: Kysely<Schema>,
  { ids, workspaceId, actorKinds, actorName, action, objectId, since, until, before }: AuditFilter,
  limit: number,
): Promise<readonly AuditEntry[]> {
  let query = queries
    .selectFrom('audit')
    .leftJoin('workspaces', 'workspaces.id', 'audit.workspace_id')
    .selectAll('audit')
    .select('workspaces.name as workspace_name')
    .orderBy('audit.id', 'desc')
    .limit(limit);
  if (ids !== undefined) query = query.where('audit.id', 'in', ids.map(BigInt));
  if (workspaceId !== undefined) query = query.where('audit.workspace_id', '=', workspaceId);
  if (actorKinds !== undefined) query = query.where('audit.actor_kind', 'in', actorKinds);
  if (actorName !== undefined) query = query.where('audit.actor_name', '=', actorName);
  if (action !== undefined) query = query.where('audit.action', '=', action);
  if (objectId !== undefined) query = query.where('audit.object_id', '=', objectId);
  if (before !== undefined) query = query.where('audit.id', '<', BigInt(before));
  if (since !== undefined) query = query.where('audit.at', '>=', BigInt(since));
  if (until !== undefined) query = query.where('audit.at', '<', BigInt(until));
  return (await query.execute()).map((row) => ({
    id: Number(row.id),
    at: Number(row.at),
    actor: { kind: row.actor_kind, name: row.actor_name },
    action: row.action,
    objectId: row.object_id,
    workspaceId: row.workspace_id ?? undefined,
    workspaceName: row.workspace_name ?? undefined,
    before: row.before === null ? undefined : objectOf(row.before),
    after: objectOf(row.after),
  }));
}

function objectOf(text: string): AuditedObject {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- `recordChange` alone writes this column, and only objects.
  return JSON.parse(text) as AuditedObject;
}
