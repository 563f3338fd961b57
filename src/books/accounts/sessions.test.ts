// @suite both-databases
import { describe, expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import type { NewSession, Session } from '../core/administration.ts';
import { listBounds } from '../../core/limits.ts';
import { changeKey } from './change-keys.ts';
import { inviteMember } from './members.ts';
import { createSession, endSession, findSessions, recordRefusedSignIn } from './sessions.ts';

const hour = 3_600_000;

const sessionOf = (more: Partial<NewSession>): NewSession => ({
  ...{ hash: 'h1', role: 'key', name: 'key', groupRoles: new Map(), keyId: undefined, credential: undefined },
  address: undefined,
  ...{ csrfToken: 'c', logOutHint: undefined, createdAt: sampleNow, expiresAt: sampleNow + 12 * hour, ...more },
});

const read = (session: NewSession): Session => ({ ...session, roles: session.groupRoles });

async function begin() {
  const { queries, key } = await sampleDatabase();
  const isGood = async (at = sampleNow): Promise<boolean> => (await findSessions(queries, ['h1'], at)).length === 1;
  return { queries, key, isGood, session: sessionOf({ keyId: key.id }) };
}

it.each(['suspended', 'revoked'] as const)(
  'of a key that is %s ends, and stays ended when the key is resumed',
  async (status) => {
    const { queries, key, isGood, session } = await begin();
    await createSession(queries, session);
    await createSession(queries, sessionOf({ hash: 'h2', role: 'admin' }));
    expect(await isGood()).toBe(true);
    await changeKey(queries, key.id, { status }, sampleAuthor);
    expect(await isGood()).toBe(false);
    if (status === 'suspended') await changeKey(queries, key.id, { status: 'active' }, sampleAuthor);
    expect(await isGood()).toBe(false);
    expect(await findSessions(queries, ['h2'], sampleNow)).toHaveLength(1);
  },
);

it.each([
  ['is suspended', { status: 'suspended' }],
  ['has expired', { expires_at: BigInt(sampleNow) }],
] as const)('is not found once its key %s, whoever wrote that', async (_, columns) => {
  const { queries, isGood, session } = await begin();
  await createSession(queries, session);
  await queries
    .updateTable('keys')
    .set({ expires_at: BigInt(sampleNow + 1) })
    .execute();
  expect(await isGood()).toBe(true);
  await queries.updateTable('keys').set(columns).execute();
  expect(await isGood()).toBe(false);
});

it('ends when the clock is set back, and does not keep its person from signing in', async () => {
  const { queries, isGood } = await begin();
  const ahead = sampleNow + 31 * 24 * hour;
  const ofPerson = { role: 'member', credential: 'ada', groupRoles: new Map([['ws_1', 'owner' as const]]) } as const;
  for (let number = 1; number <= listBounds.maxSessions; number += 1)
    await createSession(
      queries,
      sessionOf({ ...ofPerson, hash: `h${number}`, createdAt: ahead, expiresAt: ahead + 12 * hour }),
    );
  expect([await isGood(ahead), await isGood(ahead - 5 * 60_000), await isGood(sampleNow)]).toEqual([true, true, false]);
  await createSession(queries, sessionOf({ ...ofPerson, hash: 'now' }));
  expect(await findSessions(queries, ['now'], sampleNow)).toHaveLength(1);
  expect(await isGood(ahead)).toBe(false);
});

it('does not outlive the expiry of its key, also one that is moved and moved back', async () => {
  const { queries, key, isGood, session } = await begin();
  await changeKey(queries, key.id, { expiresAt: sampleNow + 2 * hour }, sampleAuthor);
  expect(await createSession(queries, session)).toMatchObject({ ...session, expiresAt: sampleNow + 2 * hour });
  await changeKey(queries, key.id, { expiresAt: sampleNow + hour }, sampleAuthor);
  await changeKey(queries, key.id, { expiresAt: undefined }, sampleAuthor);
  expect([await isGood(sampleNow + hour - 1), await isGood(sampleNow + hour)]).toEqual([true, false]);
});

it('is not begun with a key that was suspended or has expired meanwhile', async () => {
  const { queries, key, isGood, session } = await begin();
  await changeKey(queries, key.id, { status: 'suspended' }, sampleAuthor);
  expect(await createSession(queries, session)).toBeUndefined();
  await changeKey(queries, key.id, { status: 'active' }, sampleAuthor);
  await changeKey(queries, key.id, { expiresAt: sampleNow + hour }, sampleAuthor);
  expect(await createSession(queries, { ...session, createdAt: sampleNow + hour })).toBeUndefined();
  expect(await isGood()).toBe(false);
});

it('is over after a suspension at the same moment, whichever comes first', async () => {
  const { queries, key, isGood, session } = await begin();
  await Promise.all([
    createSession(queries, session),
    changeKey(queries, key.id, { status: 'suspended' }, sampleAuthor),
  ]);
  await changeKey(queries, key.id, { status: 'active' }, sampleAuthor);
  expect(await isGood()).toBe(false);
});

it('is read as it was begun, until it ends or expires', async () => {
  const { queries, key } = await sampleDatabase();
  const ofKey = sessionOf({ keyId: key.id, groupRoles: new Map([[key.workspaceId, 'key']]) });
  const ofMember = sessionOf({
    ...{ hash: 'h2', role: 'member', name: 'mia', credential: 'oidc mia' },
    groupRoles: new Map([
      ['ws_1', 'owner'],
      ['ws_2', 'viewer'],
    ]),
    ...{ csrfToken: 'other', logOutHint: 'hint', createdAt: sampleNow - 1, expiresAt: sampleNow + hour },
  });
  const ofAdmin = sessionOf({ hash: 'h3', role: 'admin', expiresAt: sampleNow + hour });
  for (const session of [ofKey, ofMember, ofAdmin])
    expect(await createSession(queries, session)).toEqual(read(session));
  const found = (at: number) => findSessions(queries, ['h1', 'h2', 'h3', 'h4'], at);
  expect((await found(sampleNow + hour - 1)).toSorted((one, other) => (one.hash < other.hash ? -1 : 1))).toEqual([
    read(ofKey),
    read(ofMember),
    read(ofAdmin),
  ]);
  expect(await found(sampleNow + hour)).toEqual([read(ofKey)]);
  expect(await findSessions(queries, [], sampleNow)).toEqual([]);
  await endSession(queries, 'h1');
  expect(await found(sampleNow + hour)).toEqual([]);
  await endSession(queries, 'h1');
});

it('is deleted once it has expired, when another begins', async () => {
  const { queries } = await sampleDatabase();
  await createSession(queries, sessionOf({ expiresAt: sampleNow + hour }));
  await createSession(queries, sessionOf({ hash: 'h2', expiresAt: sampleNow + hour + 1 }));
  const kept = async () =>
    (await queries.selectFrom('sessions').select('hash').orderBy('hash').execute()).map(({ hash }) => hash);
  expect(await kept()).toEqual(['h1', 'h2']);
  await createSession(queries, sessionOf({ hash: 'h3', createdAt: sampleNow + hour }));
  expect(await kept()).toEqual(['h2', 'h3']);
});

it.each([
  ['of a key', 'key_id'],
  ['of a person', 'credential'],
] as const)('%s are bounded: the oldest ends, and those of others stay', async (_, column) => {
  const { queries, key } = await begin();
  const groupRoles = new Map([[key.workspaceId, 'owner']] as const);
  const owner =
    column === 'key_id' ? { keyId: key.id } : { role: 'member' as const, credential: 'subject-1', groupRoles };
  const signIn = (index: number) =>
    createSession(queries, sessionOf({ ...owner, hash: `s${index}`, createdAt: sampleNow + index }));
  const isOpen = async (hash: string) => (await findSessions(queries, [hash], sampleNow + hour)).length === 1;
  await createSession(queries, sessionOf({ hash: 'other', role: 'admin', credential: 'subject-2' }));
  for (let index = 0; index < listBounds.maxSessions; index += 1) await signIn(index);
  // At the bound, none has ended.
  const { size } = await queries
    .selectFrom('sessions')
    .select(({ fn }) => fn.countAll<number | bigint>().as('size'))
    .executeTakeFirstOrThrow();
  expect(Number(size)).toBe(listBounds.maxSessions + 1);
  await signIn(listBounds.maxSessions);
  expect(await Promise.all(['s0', 's1', `s${listBounds.maxSessions}`, 'other'].map(isOpen))).toEqual([
    ...[false, true, true, true],
  ]);
});

/** Sessions in the form of an identity provider's, and what each may do now: `admin`, or roles by workspaces. */
async function beginProvider() {
  const { queries, workspace } = await sampleDatabase();
  const member = (hash: string, more: Partial<NewSession>): NewSession =>
    sessionOf({ hash, role: 'member', credential: 'ada', logOutHint: 'hint', ...more });
  const owner: Partial<NewSession> = { groupRoles: new Map([[workspace.id, 'owner']]) };
  const rights = async (...hashes: readonly string[]) => {
    const found = await findSessions(queries, hashes, sampleNow);
    const byHash = new Map(found.map((one) => [one.hash, one.role === 'member' ? [...one.roles.values()] : one.role]));
    return hashes.map((hash) => byHash.get(hash));
  };
  return { queries, workspace, member, owner, rights };
}

describe('a sign-in with an identity provider', () => {
  it('changes the open sessions of the person, and of nobody else', async () => {
    const { queries, workspace, member, owner, rights } = await beginProvider();
    await createSession(queries, member('h1', owner));
    await createSession(queries, member('h2', { ...owner, credential: 'mia' }));
    expect(await rights('h1', 'h2')).toEqual([['owner'], ['owner']]);
    await createSession(queries, member('h3', { groupRoles: new Map([[workspace.id, 'viewer']]) }));
    expect(await rights('h1', 'h2', 'h3')).toEqual([['viewer'], ['owner'], ['viewer']]);
  });

  it('ends those of an admin who is one no longer, and none of the admin token', async () => {
    const { queries, member, owner, rights } = await beginProvider();
    await createSession(queries, member('h1', { role: 'admin' }));
    await createSession(queries, sessionOf({ hash: 'h2', role: 'admin', credential: 'ada' }));
    expect(await rights('h1', 'h2')).toEqual(['admin', 'admin']);
    await createSession(queries, member('h3', owner));
    expect(await rights('h1', 'h2', 'h3')).toEqual([undefined, 'admin', ['owner']]);
  });

  it('takes the invitations of an address that the person has no longer', async () => {
    const { queries, workspace, member, rights } = await beginProvider();
    for (const address of ['ada@example.com', 'new@example.com']) {
      const role = address.startsWith('ada') ? 'owner' : 'viewer';
      await inviteMember(queries, workspace.id, { address, role }, sampleAuthor);
    }
    await createSession(queries, member('h1', { address: 'ada@example.com' }));
    expect(await rights('h1')).toEqual([['owner']]);
    await createSession(queries, member('h2', { address: 'new@example.com' }));
    expect(await rights('h1', 'h2')).toEqual([['viewer'], ['viewer']]);
  });

  it('that is refused ends what groups gave, and keeps what an invitation gives', async () => {
    const { queries, workspace, member, owner, rights } = await beginProvider();
    await createSession(queries, member('h1', owner));
    await createSession(queries, member('h2', { ...owner, credential: 'mia' }));
    await createSession(queries, member('h3', { role: 'admin', credential: 'max' }));
    await inviteMember(queries, workspace.id, { address: 'mia@example.com', role: 'viewer' }, sampleAuthor);
    expect(await rights('h1', 'h2', 'h3')).toEqual([['owner'], ['owner'], 'admin']);
    for (const subject of ['ada', 'mia', 'max']) {
      await recordRefusedSignIn(queries, { subject, address: `${subject}@example.com` });
    }
    expect(await rights('h1', 'h2', 'h3')).toEqual([undefined, ['viewer'], undefined]);
  });
});
