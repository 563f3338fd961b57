import type { Kysely, Transaction } from 'kysely';
import type { Schema } from './schema.ts';

/** Who changes an account. */
export interface Actor {
  /** `command-line`: a user of the operating system. */
  readonly kind: 'command-line' | 'admin-token' | 'portal-user';
  /** Of the user or of the token; never the token itself. */
  readonly name: string;
}

/** Who makes a change, and when: milliseconds since the Unix epoch. Every function that changes an account takes one. */
export interface Authorship {
  readonly actor: Actor;
  readonly now: number;
}

export type AuditAction =
  | `workspace.${'create' | 'credit' | 'suspend' | 'resume' | 'limits'}`
  | `key.${'create' | 'suspend' | 'resume' | 'revoke' | 'budget' | 'limits' | 'update'}`
  | 'ledger.accept-loss';

/** What is shown of an object in the trail. Never a secret: neither a key's text nor its hash. */
export type AuditedObject = Readonly<Record<string, unknown>>;

interface AuditedChange {
  readonly action: AuditAction;
  readonly objectId: string;
  readonly workspaceId: string | undefined;
  /** Undefined: the change made the object. */
  readonly before: AuditedObject | undefined;
  readonly after: AuditedObject;
}

export interface AuditEntry extends AuditedChange {
  /** Rises from entry to entry. */
  readonly id: number;
  readonly at: number;
  readonly actor: Actor;
  readonly workspaceName: string | undefined;
}

export interface AuditFilter {
  readonly workspaceId?: string | undefined;
  /** From this moment on, and before that one. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/**
 * Writes a change into the audit trail, in the transaction that makes it: one is never kept without the other. A change that
 * leaves everything as it was, such as a second suspension, is no change.
 */
export async function recordChange(
  transaction: Transaction<Schema>,
  { action, objectId, workspaceId, before, after }: AuditedChange,
  { actor, now }: Authorship,
): Promise<void> {
  const [was, is] = [before === undefined ? null : JSON.stringify(before), JSON.stringify(after)];
  if (was === is) return;
  await transaction
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
    .execute();
}

/** The newest changes first, at most `limit` of them. */
export async function listAudit(
  queries: Kysely<Schema>,
  { workspaceId, since, until }: AuditFilter,
  limit: number,
): Promise<readonly AuditEntry[]> {
  let query = queries
    .selectFrom('audit')
    .leftJoin('workspaces', 'workspaces.id', 'audit.workspace_id')
    .selectAll('audit')
    .select('workspaces.name as workspace_name')
    .orderBy('audit.id', 'desc')
    .limit(limit);
  if (workspaceId !== undefined) query = query.where('audit.workspace_id', '=', workspaceId);
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
