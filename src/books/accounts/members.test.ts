// @suite both-databases
import { describe, expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import type { NewSession } from '../core/administration.ts';
import type { WorkspaceRole } from '../core/rights.ts';
import { listAudit } from './audit.ts';
import { inviteMember, listMembers, removeMember, setMemberRole } from './members.ts';
import { createSession, findSessions, recordRefusedSignIn } from './sessions.ts';
import { createWorkspace } from './workspaces.ts';

type Queries = Awaited<ReturnType<typeof sampleDatabase>>['queries'];

async function begin() {
  const sample = await sampleDatabase();
  const { queries, workspace } = sample;
  const invite = (address: string, role: WorkspaceRole) =>
    inviteMember(queries, 'acme', { address, role }, sampleAuthor);
  const list = async () =>
    (await listMembers(queries, workspace.id)).map(({ address, name, role, source }) => [
      address ?? name,
      role,
      source,
    ]);
  const rolesOf = async (hash: string) => (await findSessions(queries, [hash], sampleNow))[0]?.roles.get(workspace.id);
  return { ...sample, invite, list, rolesOf };
}

const sessionOf = (more: Partial<NewSession>): NewSession => ({
  ...{ hash: 'h1', role: 'member', name: 'ada', groupRoles: new Map(), keyId: undefined, credential: 'ada' },
  ...{ address: undefined, csrfToken: 'c', logOutHint: 'hint', createdAt: sampleNow, expiresAt: sampleNow + 9 },
  ...more,
});

describe('an invitation', () => {
  it('gives its role from the first sign-in with the address on, in whatever case it was written', async () => {
    const { queries, workspace, invite, rolesOf } = await begin();
    await invite('Ada@Example.com', 'member');
    const begun = await createSession(queries, sessionOf({ address: 'ada@example.com' }));
    expect(begun?.roles).toEqual(new Map([[workspace.id, 'member']]));
    expect(await rolesOf('h1')).toBe('member');
    expect(await listMembers(queries, workspace.id)).toMatchObject([
      {
        ...{ address: 'ada@example.com', name: 'ada', source: 'invitation' },
        ...{ invitedBy: sampleAuthor.actor, since: sampleNow, lastSignInAt: sampleNow },
      },
    ]);
  });

  it('changes open sessions at once: a new role, and the end of the session without any', async () => {
    const { queries, invite, rolesOf } = await begin();
    await invite('other@example.com', 'owner');
    const { id, workspaceId } = await invite('ada@example.com', 'owner');
    await createSession(queries, sessionOf({ address: 'ada@example.com' }));
    await setMemberRole(queries, { workspaceId, id }, 'viewer', sampleAuthor);
    expect(await rolesOf('h1')).toBe('viewer');
    await removeMember(queries, { workspaceId, id }, sampleAuthor);
    expect(await findSessions(queries, ['h1'], sampleNow)).toEqual([]);
  });

  it('gives nothing to a person without a verified address, or with another one', async () => {
    const { queries, invite } = await begin();
    await invite('ada@example.com', 'owner');
    await createSession(queries, sessionOf({ name: 'ada@example.com', credential: 'eve' }));
    await createSession(queries, sessionOf({ hash: 'h2', address: 'eve@example.com' }));
    expect(await findSessions(queries, ['h1', 'h2'], sampleNow)).toEqual([]);
  });

  it.each(['ada', 'ada@', 'ada@example.com, bob@example.com', ''])('is not made for %j', async (address) => {
    const { invite } = await begin();
    await expect(invite(address, 'viewer')).rejects.toThrow('expected an e-mail address');
  });

  it('is made once for an address in a workspace, and again after it was withdrawn', async () => {
    const { queries, invite } = await begin();
    const { id, workspaceId } = await invite('ada@example.com', 'viewer');
    await expect(invite('ADA@example.com', 'owner')).rejects.toThrow('is a member of "acme" already');
    await createWorkspace(queries, { name: 'other', credit: 0n, maxInFlight: 1 }, sampleAuthor);
    await inviteMember(queries, 'other', { address: 'ada@example.com', role: 'owner' }, sampleAuthor);
    await removeMember(queries, { workspaceId, id }, sampleAuthor);
    await invite('ada@example.com', 'owner');
  });

  it('is in the audit trail, with each change of it', async () => {
    const { queries, workspace, invite } = await begin();
    const { id, workspaceId } = await invite('ada@example.com', 'viewer');
    await setMemberRole(queries, { workspaceId, id }, 'member', sampleAuthor);
    await setMemberRole(queries, { workspaceId, id }, 'member', sampleAuthor);
    await removeMember(queries, { workspaceId, id }, sampleAuthor);
    const entries = await listAudit(queries, { objectId: id }, 9);
    expect(entries.map(({ action, before, after }) => [action, before?.['role'], after['role']])).toEqual([
      ['member.remove', 'member', 'none'],
      ['member.role', 'viewer', 'member'],
      ['member.invite', undefined, 'viewer'],
    ]);
    expect(entries[0]).toMatchObject({ workspaceId: workspace.id, after: { address: 'ada@example.com' } });
  });
});

describe('a group', () => {
  it('is listed as of the last sign-in, and gives no role by that', async () => {
    const { queries, workspace, list } = await begin();
    const groups = (role: WorkspaceRole) => ({ groupRoles: new Map([[workspace.id, role]]) });
    await createSession(queries, sessionOf(groups('owner')));
    await createSession(queries, sessionOf({ hash: 'h2', ...groups('viewer') }));
    expect(await list()).toEqual([['ada', 'viewer', 'group']]);
    // The provider has not named the group again.
    await createSession(queries, sessionOf({ hash: 'h3' }));
    expect(await list()).toEqual([]);
    expect(await findSessions(queries, ['h3'], sampleNow)).toEqual([]);
  });

  it.each<readonly [string, (queries: Queries) => Promise<unknown>]>([
    ['is refused', (queries) => recordRefusedSignIn(queries, { subject: 'ada', address: undefined })],
    ['is an admin', (queries) => createSession(queries, sessionOf({ hash: 'h2', role: 'admin', logOutHint: 'hint' }))],
    ['is invited', (queries) => createSession(queries, sessionOf({ hash: 'h2', address: 'ada@example.com' }))],
  ])('makes no owner after a sign-in that does not name it, when the person %s now', async (_, signIn) => {
    const { queries, workspace, invite } = await begin();
    await createSession(queries, sessionOf({ groupRoles: new Map([[workspace.id, 'owner']]) }));
    const { id, workspaceId } = await invite('mia@example.com', 'owner');
    const { id: other } = await invite('max@example.com', 'owner');
    // As long as the group counts, each invited owner may go.
    await removeMember(queries, { workspaceId, id: other }, sampleAuthor);
    await signIn(queries);
    await expect(removeMember(queries, { workspaceId, id }, sampleAuthor)).rejects.toThrow('is the last owner');
  });

  it('lets the last invited owner go while it counts', async () => {
    const { queries, workspace, invite, list } = await begin();
    await createSession(queries, sessionOf({ groupRoles: new Map([[workspace.id, 'owner']]) }));
    const { id, workspaceId } = await invite('mia@example.com', 'owner');
    await removeMember(queries, { workspaceId, id }, sampleAuthor);
    expect(await list()).toEqual([['ada', 'owner', 'group']]);
  });

  it('and an invitation give the stronger of their roles', async () => {
    const { queries, workspace, invite, rolesOf, list } = await begin();
    await invite('ada@example.com', 'viewer');
    const byGroup = { address: 'ada@example.com', groupRoles: new Map([[workspace.id, 'member'] as const]) };
    await createSession(queries, sessionOf(byGroup));
    expect(await rolesOf('h1')).toBe('member');
    expect(await list()).toEqual([
      ['ada@example.com', 'member', 'group'],
      ['ada@example.com', 'viewer', 'invitation'],
    ]);
  });

  it('is changed at the provider alone', async () => {
    const { queries, workspace } = await begin();
    await createSession(queries, sessionOf({ groupRoles: new Map([[workspace.id, 'viewer']]) }));
    const [{ id } = { id: '' }] = await listMembers(queries, workspace.id);
    await expect(removeMember(queries, { workspaceId: workspace.id, id }, sampleAuthor)).rejects.toThrow(
      'ada is in "acme" by a group of the identity provider.',
    );
  });
});

describe('the last owner', () => {
  it('is neither removed nor made less', async () => {
    const { queries, invite } = await begin();
    const { id, workspaceId } = await invite('ada@example.com', 'owner');
    await invite('mia@example.com', 'member');
    await expect(removeMember(queries, { workspaceId, id }, sampleAuthor)).rejects.toThrow(
      'ada@example.com is the last owner of "acme". Make another member an owner first.',
    );
    await expect(setMemberRole(queries, { workspaceId, id }, 'viewer', sampleAuthor)).rejects.toThrow('last owner');
    await setMemberRole(queries, { workspaceId, id }, 'owner', sampleAuthor);
    await invite('max@example.com', 'owner');
    await removeMember(queries, { workspaceId, id }, sampleAuthor);
  });

  it('stays when two owners remove each other at the same moment', async () => {
    const { queries, invite, list } = await begin();
    const ada = await invite('ada@example.com', 'owner');
    const max = await invite('max@example.com', 'owner');
    const removed = await Promise.allSettled([ada, max].map((one) => removeMember(queries, one, sampleAuthor)));
    expect(removed.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(await list()).toHaveLength(1);
  });

  it('of another workspace does not count, and a member of another workspace is not found', async () => {
    const { queries, invite } = await begin();
    const { id } = await invite('ada@example.com', 'viewer');
    const other = await createWorkspace(queries, { name: 'other', credit: 0n, maxInFlight: 1 }, sampleAuthor);
    await expect(removeMember(queries, { workspaceId: other.id, id }, sampleAuthor)).rejects.toThrow(
      `There is no member with the id "${id}" in "other".`,
    );
  });
});
