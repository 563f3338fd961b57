// @suite both-databases
import { expect, it } from 'vitest';
import { sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import type { NewSession } from '../core/administration.ts';
import { credentialOfUser, type LocalUser } from '../core/local-user.ts';
import { listAudit } from './audit.ts';
import * as users from './local-users.ts';
import { listMembers } from './members.ts';
import { createSession, findSessions } from './sessions.ts';

const day = 86_400_000;
const by = { actor: { kind: 'command-line', name: 'tester' }, now: sampleNow } as const;
const invitation = { address: 'Ada@Example.com', role: 'member', until: sampleNow + day } as const;

const sessionOf = (user: LocalUser, hash: string): NewSession => ({
  ...{ hash, role: user.role, name: user.address, address: user.address, groupRoles: new Map(), keyId: undefined },
  ...{ credential: credentialOfUser(user), csrfToken: 'csrf', logOutHint: undefined },
  ...{ createdAt: sampleNow, expiresAt: sampleNow + day },
});

it('an invitation works once and within its time, and gives a password', async () => {
  const { queries } = await sampleDatabase();
  expect(await users.hasUsers(queries)).toBe(false);
  const { user, token } = await users.inviteUser(queries, invitation, by);
  expect(user).toMatchObject({ address: 'ada@example.com', role: 'member', hasPassword: false });
  expect(JSON.stringify(await queries.selectFrom('local_users').selectAll().execute(), textOf)).not.toContain(token);
  const accept = (given: string, now: number) =>
    users.acceptInvitation(queries, { token: given, password: `hash of ${now}` }, now);
  await expect(accept('another', sampleNow)).rejects.toMatchObject({ code: 'invitation_ended' });
  await expect(accept(token, sampleNow + day)).rejects.toMatchObject({ code: 'invitation_ended' });
  expect(await accept(token, sampleNow + day - 1)).toMatchObject({ hasPassword: true, invitedUntil: undefined });
  await expect(accept(token, sampleNow)).rejects.toMatchObject({ code: 'invitation_ended' });
  expect(await users.findUser(queries, 'ADA@example.com')).toMatchObject({
    password: `hash of ${sampleNow + day - 1}`,
  });
  expect(await users.findUser(queries, 'no address')).toBeUndefined();
  expect(await users.hasUsers(queries)).toBe(true);
});

it('of several uses at the same moment, one counts', async () => {
  const { queries } = await sampleDatabase();
  const { token } = await users.inviteUser(queries, invitation, by);
  const uses = Array.from({ length: 5 }, (_, at) =>
    users.acceptInvitation(queries, { token, password: `hash ${at}` }, sampleNow),
  );
  const ends = await Promise.allSettled(uses);
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

it('a second invitation replaces the link, keeps the password until it is used, and then ends all sessions', async () => {
  const { queries, workspace } = await sampleDatabase();
  const membership = { workspace: workspace.id, role: 'viewer' } as const;
  const first = await users.inviteUser(queries, { ...invitation, membership }, by);
  await users.acceptInvitation(queries, { token: first.token, password: 'one' }, sampleNow);
  await createSession(queries, sessionOf(first.user, 'h1'));
  const second = await users.inviteUser(queries, invitation, by);
  const third = await users.inviteUser(queries, { ...invitation, until: sampleNow + 2 * day }, by);
  expect(third.user.id).toBe(first.user.id);
  expect((await users.findUser(queries, 'ada@example.com'))?.password).toBe('one');
  expect(await findSessions(queries, ['h1'], sampleNow)).toHaveLength(1);
  const accept = (token: string) => users.acceptInvitation(queries, { token, password: 'two' }, sampleNow);
  await expect(accept(second.token)).rejects.toMatchObject({ code: 'invitation_ended' });
  await accept(third.token);
  expect(await findSessions(queries, ['h1'], sampleNow)).toEqual([]);
  expect(await users.listUsers(queries)).toHaveLength(1);
});

it('a session has the roles of the memberships of the address, of which an invitation can make one', async () => {
  const { queries, workspace } = await sampleDatabase();
  const membership = { workspace: workspace.name, role: 'owner' } as const;
  const { user } = await users.inviteUser(queries, { ...invitation, membership }, by);
  const session = await createSession(queries, sessionOf(user, 'h1'));
  expect([...(session?.roles ?? [])]).toEqual([[workspace.id, 'owner']]);
  expect(await listMembers(queries, workspace.id)).toMatchObject([
    { address: 'ada@example.com', lastSignInAt: sampleNow },
  ]);
  expect(await users.listUsers(queries)).toMatchObject([{ lastSignInAt: sampleNow }]);
  // The membership exists now: nothing of a second one is kept.
  const again = users.inviteUser(queries, { ...invitation, role: 'admin', membership }, by);
  await expect(again).rejects.toMatchObject({ code: 'member_exists' });
  expect(await users.listUsers(queries)).toMatchObject([{ role: 'member' }]);
});

it('whoever is removed or gets another role is out, and a removed user begins no session', async () => {
  const { queries } = await sampleDatabase();
  const { user } = await users.inviteUser(queries, { ...invitation, role: 'admin' }, by);
  await createSession(queries, sessionOf(user, 'h1'));
  const { user: member } = await users.inviteUser(queries, invitation, by);
  expect(await findSessions(queries, ['h1'], sampleNow)).toEqual([]);
  await createSession(queries, sessionOf(member, 'h2'));
  await users.removeUser(queries, 'ADA@example.com', by);
  expect(await findSessions(queries, ['h2'], sampleNow)).toEqual([]);
  expect(await createSession(queries, sessionOf(member, 'h3'))).toBeUndefined();
  expect(await findSessions(queries, ['h3'], sampleNow)).toEqual([]);
  await expect(users.removeUser(queries, user.id, by)).rejects.toMatchObject({ code: 'user_not_found' });
});

it('each change is in the audit trail, without a password', async () => {
  const { queries } = await sampleDatabase();
  const { user, token } = await users.inviteUser(queries, invitation, by);
  await users.acceptInvitation(queries, { token, password: 'the hash' }, sampleNow + 1);
  await users.removeUser(queries, user.id, by);
  const ada = { address: 'ada@example.com', role: 'member' };
  const entries = await listAudit(queries, { objectId: user.id }, 10);
  expect(entries.map(({ action, actor, after }) => [action, actor.name, after])).toEqual([
    ['user.remove', 'tester', { address: 'ada@example.com', role: 'none' }],
    ['user.password', 'ada@example.com', { ...ada, password: 'set', invitation: 'none' }],
    [
      'user.invite',
      'tester',
      { ...ada, password: 'none', invitation: expect.stringMatching(/^[0-9a-f]{8}$/) as string },
    ],
  ]);
  expect(JSON.stringify(entries, textOf)).not.toMatch(/the hash/);
});

it.each([
  [{ address: 'nobody' }, 'address_malformed'],
  [{ until: sampleNow }, 'invitation_too_long'],
  [{ until: sampleNow + 31 * day }, 'invitation_too_long'],
  [{ membership: { workspace: 'nowhere', role: 'viewer' } }, 'workspace_not_found'],
] as const)('an invitation with %o is refused', async (given, code) => {
  const { queries } = await sampleDatabase();
  await expect(users.inviteUser(queries, { ...invitation, ...given }, by)).rejects.toMatchObject({ code });
  expect(await users.hasUsers(queries)).toBe(false);
});

const textOf = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);
