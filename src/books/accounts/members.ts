import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Actor, AuditAction, Authorship, NewSession } from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import { listBounds } from '../../core/limits.ts';
import { memberAddress, memberFields, type MemberRecord, type NewMember } from '../core/membership.ts';
import type { WorkspaceRole } from '../core/rights.ts';
import { fieldsOfRow } from '../databases/account-columns.ts';
import type { Schema } from '../databases/schema.ts';
import { recordChange } from './audit.ts';
import { refuseBeyond } from './list-bounds.ts';
import { lockWorkspace, newId } from './workspaces.ts';

/** The members of a workspace: owners first, then by address. Those of groups as of their last sign-in. */
export async function listMembers(queries: Kysely<Schema>, workspaceId: string): Promise<readonly MemberRecord[]> {
  const rows = await queries
    .selectFrom('members')
    .leftJoin('audit', (join) =>
      join.onRef('audit.object_id', '=', 'members.id').on('audit.action', '=', 'member.invite'),
    )
    .selectAll('members')
    .select(['audit.actor_kind', 'audit.actor_name'])
    .where('members.workspace_id', '=', workspaceId)
    .orderBy(sql`case members.role when 'owner' then 0 when 'member' then 1 else 2 end`)
    .orderBy(sql`coalesce(members.address, members.name)`)
    .orderBy('members.id')
    .execute();
  return rows.map((row) => memberOf(row, actorOf(row.actor_kind, row.actor_name)));
}

function actorOf(kind: Actor['kind'] | null, name: string | null): Actor | undefined {
  return kind === null || name === null ? undefined : { kind, name };
}

/**
 * Gives an address a role in a workspace. It holds for everyone whom the identity provider signs in with this address,
 * verified, also in open sessions. Throws a `Refusal` if there is no such workspace, for a text that is no address, and
 * if the address was invited before.
 */
export async function inviteMember(
  queries: Kysely<Schema>,
  workspace: string,
  wanted: NewMember,
  by: Authorship,
): Promise<MemberRecord> {
  return queries.transaction().execute((transaction) => addMember(transaction, workspace, wanted, by));
}

/** Like `inviteMember`, within a transaction. */
export async function addMember(
  transaction: Transaction<Schema>,
  workspace: string,
  wanted: NewMember,
  by: Authorship,
): Promise<MemberRecord> {
  const address = memberAddress(wanted.address);
  if (address === undefined) throw refusal('address_malformed');
  const { id: workspaceId, name } = await lockWorkspace(transaction, workspace);
  const known = await transaction
    .selectFrom('members')
    .select(['address', 'source'])
    .where('workspace_id', '=', workspaceId)
    .execute();
  if (known.some((row) => row.source === 'invitation' && row.address === address)) {
    throw refusal('member_exists', { address, workspace: name });
  }
  // The list shows them all at once.
  refuseBeyond(known.length, listBounds.maxMembers, { list: 'A workspace', entries: 'members', field: 'address' });
  const row = {
    ...{ id: newId('member'), workspace_id: workspaceId, address, subject: null, name: null, role: wanted.role },
    ...{ source: 'invitation' as const, created_at: BigInt(by.now), last_sign_in_at: null },
  };
  await transaction.insertInto('members').values(row).execute();
  await recordMember(transaction, { action: 'member.invite', before: undefined, after: row }, by);
  return memberOf(row, by.actor);
}

/** Changes the role of an invited member. Throws a `Refusal` like `removeMember`. */
export async function setMemberRole(
  queries: Kysely<Schema>,
  { workspaceId, id }: Pick<MemberRecord, 'workspaceId' | 'id'>,
  role: WorkspaceRole,
  by: Authorship,
): Promise<MemberRecord> {
  return queries.transaction().execute(async (transaction) => {
    const before = await changeable(transaction, { workspaceId, id }, role);
    await transaction.updateTable('members').set({ role }).where('id', '=', id).execute();
    const after = { ...before, role };
    await recordMember(transaction, { action: 'member.role', before, after }, by);
    const found = (await listMembers(transaction, workspaceId)).find((one) => one.id === id);
    if (found === undefined) throw new Error('the member is locked with its workspace');
    return found;
  });
}

/**
 * Takes the role of an invited member away. Open sessions lose it with their next request. Throws a `Refusal` if there is
 * no such member, for a member by a group, and for the last owner of the workspace.
 */
export async function removeMember(
  queries: Kysely<Schema>,
  { workspaceId, id }: Pick<MemberRecord, 'workspaceId' | 'id'>,
  by: Authorship,
): Promise<void> {
  await queries.transaction().execute(async (transaction) => {
    const before = await changeable(transaction, { workspaceId, id }, undefined);
    await transaction.deleteFrom('members').where('id', '=', id).execute();
    await recordMember(transaction, { action: 'member.remove', before, after: undefined }, by);
  });
}

/**
 * The row of a member that is about to get another role, or none. The lock of the workspace lasts until the transaction
 * ends. So two owners who remove each other do not leave the workspace without one.
 */
async function changeable(
  transaction: Transaction<Schema>,
  { workspaceId, id }: Pick<MemberRecord, 'workspaceId' | 'id'>,
  wanted: WorkspaceRole | undefined,
): Promise<Selectable<Schema['members']>> {
  const { name: workspace } = await lockWorkspace(transaction, workspaceId);
  const rows = await transaction.selectFrom('members').selectAll().where('workspace_id', '=', workspaceId).execute();
  const row = rows.find((one) => one.id === id);
  if (row === undefined) throw refusal('member_not_found', { id, workspace });
  const who = row.address ?? row.name ?? row.id;
  if (row.source === 'group') throw refusal('member_of_group', { who, workspace });
  const isLast = row.role === 'owner' && !rows.some((one) => one.role === 'owner' && one.id !== id);
  if (isLast && wanted !== 'owner') throw refusal('last_owner', { who, workspace });
  return row;
}

/** The roles of an address by the ids of workspaces, from invitations. Undefined: no address is verified. */
export async function invitedRoles(
  queries: Kysely<Schema>,
  address: string | undefined,
): Promise<ReadonlyMap<string, WorkspaceRole>> {
  if (address === undefined) return new Map();
  return (await rolesByAddress(queries, [address])).get(address) ?? new Map();
}

export async function rolesByAddress(
  queries: Kysely<Schema>,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, WorkspaceRole>>> {
  if (addresses.length === 0) return new Map();
  const rows = await queries
    .selectFrom('members')
    .select(['address', 'workspace_id', 'role'])
    .where('source', '=', 'invitation')
    .where('address', 'in', [...addresses])
    .execute();
  const found = new Map<string, Map<string, WorkspaceRole>>();
  for (const { address, workspace_id: workspaceId, role } of rows) {
    if (address === null) continue;
    found.getOrInsertComputed(address, () => new Map<string, WorkspaceRole>()).set(workspaceId, role);
  }
  return found;
}

/** Notes who signs in: the first sign-in of invited people, and the groups that a person is in now. */
export async function recordSignIn(transaction: Transaction<Schema>, session: NewSession): Promise<void> {
  const { address, credential: subject, name, role, groupRoles, createdAt } = session;
  const seen = { name, last_sign_in_at: BigInt(createdAt) };
  if (address !== undefined) {
    await transaction
      .updateTable('members')
      .set(seen)
      .where('source', '=', 'invitation')
      .where('address', '=', address)
      .execute();
  }
  if (role === 'key' || subject === undefined) return;
  await leaveGroups(transaction, subject, [...groupRoles.keys()]);
  for (const [workspaceId, groupRole] of groupRoles) {
    if (groupRole === 'key') continue;
    const now = { ...seen, role: groupRole, address: address ?? null };
    await transaction
      .insertInto('members')
      .values({
        ...{ id: newId('member'), workspace_id: workspaceId, subject, source: 'group', created_at: BigInt(createdAt) },
        ...now,
      })
      .onConflict((conflict) =>
        conflict
          .columns(['workspace_id', 'subject'])
          .where(sql<boolean>`source = 'group'`)
          .doUpdateSet(now),
      )
      .execute();
  }
}

/** Removes a person from the workspaces that no group names any more: from all except `current`. */
export async function leaveGroups(
  transaction: Transaction<Schema>,
  subject: string,
  current: readonly string[],
): Promise<void> {
  const left = transaction.deleteFrom('members').where('source', '=', 'group').where('subject', '=', subject);
  await (current.length === 0 ? left : left.where('workspace_id', 'not in', [...current])).execute();
}

type MemberRow = Selectable<Schema['members']>;

async function recordMember(
  transaction: Transaction<Schema>,
  {
    action,
    before,
    after,
  }: {
    readonly action: AuditAction & `member.${string}`;
    readonly before: MemberRow | undefined;
    readonly after: MemberRow | undefined;
  },
  by: Authorship,
): Promise<void> {
  const { id, workspace_id: workspaceId, address } = after ?? before ?? {};
  if (id === undefined) throw new Error('a change has an object before or after it');
  const shown = { address, role: after?.role ?? 'none' };
  await recordChange(
    transaction,
    { action, objectId: id, workspaceId, before: before && { address, role: before.role }, after: shown },
    by,
  );
}

function memberOf(row: MemberRow, invitedBy: Actor | undefined): MemberRecord {
  return {
    ...fieldsOfRow(memberFields, row),
    workspaceId: row.workspace_id,
    invitedBy,
    since: Number(row.created_at),
  };
}
