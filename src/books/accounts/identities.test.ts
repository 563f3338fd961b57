// @suite both-databases
import { describe, expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { identityBounds, maxSubjects } from '../../core/identity.ts';
import { listBounds } from '../../core/limits.ts';
import type { Authorship } from '../core/administration.ts';
import type { IdentityChange, NewIdentity } from '../core/identity.ts';
import { Refusal } from '../core/operator-refusals.ts';
import { accountFigures } from './account-figures.ts';
import { listAudit } from './audit.ts';
import { changeKey } from './change-keys.ts';
import { declareWorkspace, leaveWorkspace } from './declared-workspaces.ts';
import { declarationsOf, unlockAbsent } from './declarations.ts';
import { findCredentials } from './find-credentials.ts';
import {
  changeIdentity,
  createIdentity,
  declareIdentity,
  findIdentity,
  leaveIdentity,
  listIdentities,
} from './identities.ts';
import { identityAccountHash, openIdentityAccount } from './identity-accounts.ts';
import { findKey, listKeys } from './keys.ts';
import { rotateKey } from './rotate-key.ts';

const rules: NewIdentity = {
  ...{ name: 'search', issuer: 'cluster', audience: 'weir', match: ['claims.sub != ""'], workspace: { name: 'acme' } },
  ...{ each: 'subject', tags: { app: 'claims.sub' }, isBound: false },
  ...{ budget: { limit: 100n, period: 'month' }, rate: 7, burst: 9, models: ['qwen/*'] },
};
const controller: Authorship = { actor: { kind: 'controller', name: 'Identity team/search' }, now: sampleNow };
const object = { namespace: 'team', name: 'search', isManaging: true };
const declared = { ...rules, status: 'active' } as const;
const at = (ms: number): Authorship => ({ ...sampleAuthor, now: sampleNow + ms });

async function begin(change: Partial<NewIdentity> = {}) {
  const sample = await sampleDatabase();
  const { queries } = sample;
  const identity = await createIdentity(queries, { ...rules, ...change }, sampleAuthor);
  const open = (subject: string | undefined, workspace = 'acme') =>
    openIdentityAccount(queries, { identityId: identity.id, workspace, subject }, sampleAuthor);
  const keyOf = async (hash: string | undefined) =>
    (await findCredentials(queries, [hash ?? ''], sampleNow)).get(hash ?? '')?.key;
  return { ...sample, identity, open, keyOf };
}

describe('an identity', () => {
  it('is made, found by name and id, changed and revoked, and each change is in the audit trail', async () => {
    const { queries, identity } = await begin();
    expect(identity).toMatchObject({ ...rules, status: 'active' });
    expect(await findIdentity(queries, identity.id)).toEqual(await findIdentity(queries, 'search'));
    expect(await listIdentities(queries)).toEqual([await findIdentity(queries, 'search')]);
    const change: IdentityChange = { match: ['claims.sub == "a"'], rate: 8, models: undefined, each: 'identity' };
    expect(await changeIdentity(queries, 'search', change, at(1))).toMatchObject({ ...rules, ...change });
    // The same again changes nothing.
    await changeIdentity(queries, 'search', change, at(2));
    for (const status of ['suspended', 'active', 'revoked'] as const) {
      expect(await changeIdentity(queries, identity.id, { status }, at(3))).toMatchObject({ status });
    }
    const audit = await listAudit(queries, { objectId: identity.id }, 9);
    expect(audit.map(({ action }) => action)).toEqual([
      ...['identity.revoke', 'identity.resume', 'identity.suspend', 'identity.update', 'identity.create'],
    ]);
    expect(audit.at(-2)).toMatchObject({ before: { rate: 7 }, after: { rate: 8, models: null, each: 'identity' } });
    await expect(findIdentity(queries, 'search')).rejects.toMatchObject({ code: 'identity_not_found' });
    await expect(changeIdentity(queries, identity.id, { rate: 1 }, sampleAuthor)).rejects.toBeInstanceOf(Refusal);
    // The name is free again.
    expect((await createIdentity(queries, rules, at(4))).id).not.toBe(identity.id);
  });

  it('names its workspace, given by name or id, and refuses one that does not exist', async () => {
    const { queries, workspace } = await begin();
    const made = await createIdentity(
      queries,
      { ...rules, name: 'b', workspace: { name: workspace.id } },
      sampleAuthor,
    );
    expect(made.workspace).toEqual({ name: 'acme' });
    const missing = { workspace: { name: 'nowhere' } };
    const refused = { code: 'workspace_not_found' };
    await expect(createIdentity(queries, { ...rules, name: 'c', ...missing }, sampleAuthor)).rejects.toMatchObject(
      refused,
    );
    await expect(changeIdentity(queries, 'b', missing, sampleAuthor)).rejects.toMatchObject(refused);
    const claimed = { workspace: { claim: 'claims.team' } };
    expect(await changeIdentity(queries, 'b', claimed, sampleAuthor)).toMatchObject(claimed);
  });

  const tags = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'claims.sub']));
  it.each<readonly [Partial<NewIdentity>, field: string | undefined, reason: RegExp]>([
    [{ name: 'search' }, 'name', /already an identity named "search"/],
    [{ name: 'a b' }, 'name', /cannot be the name of an identity/],
    [{ issuer: 'http://issuer.example' }, 'issuer', /expected "cluster" or an address with https:/],
    [{ issuer: 'https://issuer.example?a=b' }, 'issuer', /without a query/],
    [{ issuer: `https://${'a'.repeat(identityBounds.maxIssuerLength)}` }, 'issuer', /expected/],
    [{ audience: '' }, 'audience', /1 to 256 characters/],
    [{ audience: 'a'.repeat(identityBounds.maxAudienceLength + 1) }, 'audience', /1 to 256 characters/],
    [{ match: [] }, 'match', /1 to 16 expressions, found 0/],
    [{ match: Array.from({ length: identityBounds.maxMatch + 1 }, () => 'true') }, 'match', /found 17/],
    [{ match: ['true', 'claims.sub =='] }, 'match', /^match: "claims.sub ==": /],
    [{ match: ['token.sub == "a"'] }, 'match', /expected "claims", and found "token"/],
    [{ match: ['claims.sub.nothing()'] }, 'match', /unbound function/],
    [{ match: [`claims.sub == "${'a'.repeat(identityBounds.maxRuleLength)}"`] }, 'match', /at most 1000 characters/],
    [{ match: ['claims.a.all(x, claims.b.all(y, x == y))'] }, 'match', /at most 1 of all/],
    [{ workspace: { name: '' } }, 'workspace', /expected the name of a workspace/],
    [{ workspace: { claim: 'claims[' } }, 'workspace_claim', /"claims\["/],
    [{ tags: { app: 'claims.' } }, 'tags', /"claims."/],
    [{ tags: tags(['App']) }, 'tags', /"App" cannot be the name of a tag/],
    [{ tags: tags(['a', 'b', 'c', 'd', 'e']) }, 'tags', /expected at most 4, found 5/],
    [{ issuer: 'https://issuer.example', isBound: true }, 'bound', /expected the issuer "cluster"/],
  ])('is refused with the field and the reason: %j', async (change, field, reason) => {
    const { queries } = await begin();
    const refused = createIdentity(queries, { ...rules, name: 'other', ...change }, sampleAuthor);
    await expect(refused).rejects.toMatchObject({ field });
    await expect(refused).rejects.toThrow(reason);
    expect(await listIdentities(queries)).toHaveLength(1);
    const { name, ...changes } = change;
    if (name !== undefined) return;
    await expect(changeIdentity(queries, 'search', changes, sampleAuthor)).rejects.toMatchObject({ field });
  });

  it('is bound to the cluster after a change of one of both fields, too', async () => {
    const { queries } = await begin({ isBound: true });
    const issuer = 'https://issuer.example';
    await expect(changeIdentity(queries, 'search', { issuer }, sampleAuthor)).rejects.toMatchObject({ field: 'bound' });
    expect(await changeIdentity(queries, 'search', { issuer, isBound: false }, sampleAuthor)).toMatchObject({ issuer });
    await expect(changeIdentity(queries, 'search', { isBound: true }, sampleAuthor)).rejects.toMatchObject({
      ...{ code: 'identity_malformed', field: 'bound' },
    });
  });
});

describe('the account of an identity', () => {
  it('is opened at its first use with the limits of the identity, and found again', async () => {
    const { queries, identity, open, keyOf, workspace } = await begin();
    const hash = await open('system:serviceaccount:search:crawler');
    expect(hash).toBe(
      identityAccountHash({
        identityId: identity.id,
        workspace: 'acme',
        subject: 'system:serviceaccount:search:crawler',
      }),
    );
    const { budget, rate, burst, models } = rules;
    expect(await keyOf(hash)).toMatchObject({
      workspaceId: workspace.id,
      status: 'active',
      budget,
      rate,
      burst,
      models,
    });
    expect(await open('system:serviceaccount:search:crawler')).toBe(hash);
    const shared = await open(undefined);
    expect(shared).not.toBe(hash);
    const made = (await listKeys(queries)).filter((key) => key.identity?.id === identity.id);
    expect(new Set(made.map(({ name }) => name))).toEqual(
      new Set(['search', 'search: system:serviceaccount:search:crawler']),
    );
    expect(made.map(({ prefix }) => prefix)).toEqual([undefined, undefined]);
    expect((await listAudit(queries, { action: 'key.create' }, 2)).map(({ objectId }) => objectId).toSorted()).toEqual(
      made.map(({ id }) => id).toSorted(),
    );
  });

  it.each([
    ['a\nb\u001b[2J\0c', 'search: ab[2Jc'],
    ['\ud83d', 'search: '],
    ['a'.repeat(300), `search: ${'a'.repeat(91)}…`],
  ])('has one line of the subject as its name: %j', async (subject, name) => {
    const { open, keyOf, queries } = await begin();
    const { id = '' } = (await keyOf(await open(subject))) ?? {};
    expect((await findKey(queries, id)).name).toBe(name);
  });

  it('is shared by the subjects beyond the first 500, and those have theirs', async () => {
    const { queries, identity, open, keyOf } = await begin();
    const first = await open('first');
    const { id = '' } = (await keyOf(first)) ?? {};
    const row = await queries.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    const rows = Array.from({ length: maxSubjects - 2 }, (_, index) => ({
      ...row,
      id: `key_${index}`,
      hash: `h${index}`,
    }));
    await queries.insertInto('keys').values(rows).execute();
    const last = await open('last');
    const shared = await open('beyond');
    expect(new Set([first, last, shared]).size).toBe(3);
    expect(await open('beyond too')).toBe(shared);
    expect([await open('first'), await open('last')]).toEqual([first, last]);
    expect(shared).toBe(identityAccountHash({ identityId: identity.id, workspace: 'acme', subject: 'other' }));
  });

  it('is not opened for an identity that is revoked, or in a workspace that does not exist', async () => {
    const { queries, open } = await begin();
    expect(await open('a', 'nowhere')).toBeUndefined();
    const hash = await open('a');
    await changeIdentity(queries, 'search', { status: 'revoked' }, sampleAuthor);
    expect([await open('a'), await open('b')]).toEqual([undefined, undefined]);
    const { key } = (await findCredentials(queries, [hash ?? ''], sampleNow)).get(hash ?? '') ?? {};
    expect(key?.status).toBe('revoked');
  });

  it('follows the limits and the status of the identity', async () => {
    const { queries, open, keyOf } = await begin();
    const hashes = [await open('a'), await open('b'), await open(undefined)];
    const all = async () => Promise.all(hashes.map(keyOf));
    const budget = { limit: 5n, period: 'day' } as const;
    for (const [change, expected] of [
      [
        { rate: 70, burst: 90 },
        { rate: 70, burst: 90, budget: rules.budget, models: rules.models },
      ],
      [{ budget }, { rate: 70, budget }],
      [
        { budget: undefined, models: undefined },
        { budget: undefined, models: undefined },
      ],
      [{ tokensPerMinute: 600 }, { tokensPerMinute: 600, rate: 70 }],
      [{ rate: 70 }, { tokensPerMinute: 600 }],
      [{ tokensPerMinute: undefined }, { tokensPerMinute: undefined, rate: 70 }],
      [{ status: 'suspended' }, { status: 'suspended', rate: 70 }],
      [{ status: 'active' }, { status: 'active' }],
      [{ match: ['true'] }, { status: 'active', rate: 70 }],
    ] as const) {
      await changeIdentity(queries, 'search', change, sampleAuthor);
      for (const key of await all()) expect(key).toMatchObject(expected);
    }
    await changeIdentity(queries, 'search', { status: 'suspended' }, sampleAuthor);
    expect(await keyOf(await open('new'))).toMatchObject({ status: 'suspended' });
  });

  it('can be suspended and revoked alone, and neither changed nor rotated', async () => {
    const { queries, open, keyOf } = await begin();
    const hash = await open('a');
    const { id = '' } = (await keyOf(hash)) ?? {};
    for (const change of [
      { rate: 100 },
      { budget: undefined },
      { name: 'mine' },
      { status: 'suspended', burst: 1 },
    ] as const) {
      await expect(changeKey(queries, id, change, sampleAuthor)).rejects.toMatchObject({ code: 'key_of_identity' });
    }
    await expect(rotateKey(queries, id, { overlapMs: 1 }, sampleAuthor)).rejects.toThrow(
      /is the account of an identity/,
    );
    await changeKey(queries, id, { status: 'suspended' }, sampleAuthor);
    await changeIdentity(queries, 'search', { rate: 8 }, sampleAuthor);
    expect(await keyOf(hash)).toMatchObject({ status: 'suspended', rate: 8 });
    await changeKey(queries, id, { status: 'revoked' }, sampleAuthor);
    await changeIdentity(queries, 'search', { rate: 9 }, sampleAuthor);
    expect(await open('a')).toBe(hash);
    expect(await keyOf(hash)).toMatchObject({ status: 'revoked', rate: 8 });
  });
});

describe('the identity of an object', () => {
  it('has what the object declares, and only the controller changes it until the object is gone', async () => {
    const { queries } = await sampleDatabase();
    const { identity, isNew } = await declareIdentity(queries, object, declared, controller);
    expect([isNew, identity]).toEqual([true, expect.objectContaining(declared)]);
    expect(await declareIdentity(queries, object, declared, controller)).toEqual({ identity, isNew: false });
    expect(await listAudit(queries, { objectId: identity.id }, 9)).toHaveLength(1);
    const hash = await openIdentityAccount(
      queries,
      { identityId: identity.id, workspace: 'acme', subject: 'a' },
      at(1),
    );
    await declareIdentity(queries, object, { ...declared, rate: 70, status: 'suspended' }, controller);
    const { key } = (await findCredentials(queries, [hash ?? ''], sampleNow)).get(hash ?? '') ?? {};
    expect(key).toMatchObject({ rate: 70, status: 'suspended' });
    const refused = {
      code: 'declared_by_object',
      message: expect.stringContaining('Identity "search" in namespace "team"'),
    };
    await expect(changeIdentity(queries, identity.id, { rate: 1 }, sampleAuthor)).rejects.toMatchObject(refused);
    await expect(changeIdentity(queries, 'search', { status: 'revoked' }, sampleAuthor)).rejects.toMatchObject(refused);
    expect((await declarationsOf(queries, [identity.id])).get(identity.id)).toMatchObject({ kind: 'Identity' });
    const present = { Workspace: [], Identity: [], ApiKey: [], Credit: [] };
    expect(await unlockAbsent(queries, 'team', { ...present, Identity: ['search'] })).toBe(0);
    expect(await unlockAbsent(queries, 'team', present)).toBe(1);
    expect(await changeIdentity(queries, 'search', { rate: 1 }, sampleAuthor)).toMatchObject({ rate: 1 });
    // The object is back: it declares the same identity.
    expect(await declareIdentity(queries, object, declared, controller)).toMatchObject({
      ...{ isNew: false, identity: { id: identity.id, rate: 7 } },
    });
  });

  it('is revoked with its object, and a later object of the name begins with another', async () => {
    const { queries } = await sampleDatabase();
    const { identity } = await declareIdentity(queries, object, declared, controller);
    await leaveIdentity(queries, object, controller);
    await leaveIdentity(queries, object, controller);
    expect(await listIdentities(queries)).toEqual([]);
    const again = await declareIdentity(queries, object, declared, controller);
    expect(again.isNew).toBe(true);
    expect(again.identity.id).not.toBe(identity.id);
    expect(await declareIdentity(queries, object, declared, controller)).toEqual({ ...again, isNew: false });
    await leaveIdentity(queries, object, controller);
    expect(await listIdentities(queries)).toEqual([]);
  });

  it('stays as it is if the object does not manage it, and stays revoked until the object is made again', async () => {
    const { queries } = await sampleDatabase();
    const loose = { ...object, isManaging: false };
    const { identity } = await declareIdentity(queries, loose, declared, controller);
    const changed = await declareIdentity(queries, loose, { ...declared, rate: 70 }, controller);
    expect(changed).toMatchObject({ isNew: false, identity: { id: identity.id, rate: 7 } });
    await leaveIdentity(queries, loose, controller);
    expect(await findIdentity(queries, 'search')).toMatchObject({ id: identity.id, status: 'active' });
    expect(await declareIdentity(queries, loose, declared, controller)).toMatchObject({
      identity: { id: identity.id },
    });
    await changeIdentity(queries, 'search', { status: 'revoked' }, sampleAuthor);
    for (const one of [loose, object]) {
      expect(await declareIdentity(queries, one, declared, controller)).toMatchObject({
        ...{ isNew: false, identity: { id: identity.id, status: 'revoked' } },
      });
    }
    await leaveIdentity(queries, loose, controller);
    expect(await declareIdentity(queries, object, declared, controller)).toMatchObject({ isNew: true });
  });

  it('is refused for a name that another has, and for rules that cannot be read', async () => {
    const { queries } = await begin();
    await expect(declareIdentity(queries, object, declared, controller)).rejects.toMatchObject({
      code: 'identity_exists',
    });
    const wanted = { ...declared, name: 'team_search', match: ['claims.'] };
    await expect(declareIdentity(queries, object, wanted, controller)).rejects.toMatchObject({ field: 'match' });
    expect(await listIdentities(queries)).toHaveLength(1);
    expect(listBounds.maxIdentities).toBe(100);
  });
});

describe('a workspace with accounts of identities', () => {
  const settings = { status: 'active', maxInFlight: 8, creditLimit: 0n, labels: {}, thresholds: undefined } as const;
  it('leaves with its object, and one that takes its name has accounts of its own', async () => {
    const { queries, open, keyOf } = await begin();
    const declare = () => declareWorkspace(queries, object, { ledgerName: 'team_search', ...settings }, controller);
    const leave = (eraseName: boolean) => leaveWorkspace(queries, object, { eraseName }, controller);
    const { workspace } = await declare();
    const hash = await open('a', 'team_search');
    const figures = await accountFigures(queries, { workspaceIds: [workspace.id], keyIds: [] }, sampleNow);
    expect(figures.workspaces.get(workspace.id)?.keys).toBe(0);
    expect(await leave(false)).toEqual({ kind: 'left' });
    await declare();
    expect(await keyOf(hash)).toMatchObject({ status: 'active', workspaceId: workspace.id });
    expect(await leave(true)).toEqual({ kind: 'left' });
    expect(await open('a', 'team_search')).toBeUndefined();
    const { workspace: later } = await declare();
    expect(await keyOf(await open('a', 'team_search'))).toMatchObject({ status: 'active', workspaceId: later.id });
  });
});
