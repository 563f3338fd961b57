// @suite both-databases
import { expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Authorship } from '../core/administration.ts';
import type { Thresholds } from '../../core/alert.ts';
import type { DeclaredKey } from '../core/declared-account.ts';
import { accountFigures } from './account-figures.ts';
import { listAudit } from './audit.ts';
import { changeKey } from './change-keys.ts';
import { addCredit } from './credits.ts';
import { declareKey, leaveKeys, prepareKey } from './declared-keys.ts';
import { bookCredit, declareWorkspace, leaveCredit, leaveWorkspace } from './declared-workspaces.ts';
import { declarationsOf, unlockAbsent } from './declarations.ts';
import { findCredential, findCredentials } from './find-credentials.ts';
import { hashKey } from './key-text.ts';
import { createKey, findKey, listKeys } from './keys.ts';
import { playgroundKey } from './playground-keys.ts';
import { ownThresholds, setKeyThresholds, setWorkspaceThresholds } from './thresholds.ts';
import { findWorkspace, changeWorkspace } from './workspaces.ts';

const hour = 3_600_000;
const by: Authorship = { actor: { kind: 'controller', name: 'ApiKey team/prod generation 1' }, now: sampleNow };
const at = (ms: number): Authorship => ({ ...by, now: sampleNow + ms });
const object = { namespace: 'team', name: 'prod', isManaging: true };
const settings = { status: 'active', maxInFlight: 8, creditLimit: 0n, labels: {}, thresholds: undefined } as const;

async function begin() {
  const { queries, settle } = await sampleDatabase();
  const { workspace } = await declareWorkspace(queries, object, { ledgerName: 'team_prod', ...settings }, by);
  const wanted = (hash: string): DeclaredKey & { readonly overlapMs: number } => ({
    ...{ hash, prefix: `p-${hash.slice(-1)}`, workspaceId: workspace.id, name: 'prod', status: 'active' },
    budget: { limit: 100n, period: 'month' },
    thresholds: undefined,
    ...{ rate: 1, burst: 2, expiresAt: undefined, models: undefined, overlapMs: hour },
  });
  const statusOf = async (hash: string) => (await findCredentials(queries, [hash], sampleNow)).get(hash)?.key.status;
  return { queries, settle, workspace, wanted, statusOf };
}

it('gives a key with another text the id of the one before, which expires after the overlap', async () => {
  const { queries, wanted, statusOf } = await begin();
  const first = await declareKey(queries, object, wanted('a'), by);
  expect(first).toMatchObject({ kind: 'declared', isNew: true, hasReplaced: false, previous: undefined });
  expect(await declareKey(queries, object, wanted('a'), at(1))).toMatchObject({ isNew: false });
  const second = await declareKey(queries, object, wanted('b'), at(2));
  expect(second).toMatchObject({
    ...{ kind: 'declared', isNew: true, hasReplaced: true, prefix: 'p-b', since: sampleNow + 2 },
    previous: { prefix: 'p-a', expiresAt: sampleNow + 2 + hour },
  });
  const id = first.kind === 'declared' ? first.id : '';
  expect(second).toMatchObject({ id });
  const before = (await findCredentials(queries, ['a'], sampleNow)).get('a')?.key;
  // It can spend what was left of the budget, once.
  expect(before).toMatchObject({ status: 'active', budget: { limit: 100n, period: 'total' } });
  expect(await declareKey(queries, object, wanted('a'), at(3))).toEqual({ kind: 'ended' });
  await declareKey(queries, object, wanted('b'), at(3 + hour));
  expect([await statusOf('a'), await statusOf('b')]).toEqual(['revoked', 'active']);
  expect(await declareKey(queries, object, wanted('a'), at(4 + hour))).toEqual({ kind: 'ended' });
});

it('counts what was used of the budget where a key that was made by other means replaces it', async () => {
  const { queries, workspace, wanted, settle } = await begin();
  const first = await declareKey(queries, object, wanted('a'), by);
  const keyId = first.kind === 'declared' ? first.id : '';
  await settle([sampleOutcome({ workspaceId: workspace.id, keyId, cost: 30n, startedAt: sampleNow })]);
  const made = await createKey(queries, { workspace: workspace.name, rate: 1, burst: 1 }, sampleAuthor);
  const found = await declareKey(queries, object, wanted(hashKey(made.text)), at(1));
  expect(found).toMatchObject({ kind: 'declared', id: made.key.id, hasReplaced: true });
  expect(await findCredential(queries, made.text, sampleNow)).toMatchObject({
    ...{ key: { budget: { limit: 100n, period: 'month' } }, spent: 30n },
  });
});

it('promotes a prepared key, and revokes one that never came into the Secret', async () => {
  const { queries, wanted, statusOf } = await begin();
  await declareKey(queries, object, wanted('a'), by);
  await prepareKey(queries, object, wanted('lost'), at(1));
  expect(await statusOf('lost')).toBe('active');
  await declareKey(queries, object, wanted('a'), at(2));
  expect([await statusOf('a'), await statusOf('lost')]).toEqual(['active', 'revoked']);
  await prepareKey(queries, object, wanted('b'), at(3));
  expect(await declareKey(queries, object, wanted('b'), at(4))).toMatchObject({ prefix: 'p-b', hasReplaced: true });
  expect([await statusOf('a'), await statusOf('b')]).toEqual(['active', 'active']);
});

it('prepares one key, however often the Secret is not written', async () => {
  const { queries, workspace, wanted, statusOf } = await begin();
  await declareKey(queries, object, wanted('a'), by);
  for (const ms of [1, 2, 3]) await prepareKey(queries, object, wanted(`lost-${ms}`), at(ms));
  const statuses = async () => Promise.all(['a', 'lost-1', 'lost-2', 'lost-3'].map(statusOf));
  expect(await statuses()).toEqual(['active', undefined, undefined, 'active']);
  expect(await listKeys(queries, workspace)).toHaveLength(2);
  await declareKey(queries, object, wanted('a'), at(4));
  expect(await statuses()).toEqual(['active', undefined, undefined, 'revoked']);
  await prepareKey(queries, object, wanted('later'), at(5));
  expect(await listKeys(queries, workspace)).toHaveLength(3);
});

it('takes a key of the same workspace that no object declares, and no other', async () => {
  const { queries, workspace, wanted } = await begin();
  const { key } = await createKey(queries, { workspace: workspace.id, rate: 1, burst: 1 }, sampleAuthor);
  const { hash } = await queries.selectFrom('keys').select('hash').where('id', '=', key.id).executeTakeFirstOrThrow();
  expect(await declareKey(queries, object, wanted(hash), by)).toMatchObject({ kind: 'declared', id: key.id });
  const other = { ...object, name: 'other' };
  expect(await declareKey(queries, other, wanted(hash), by)).toEqual({ kind: 'taken' });
  const { workspace: another } = await declareWorkspace(queries, other, { ledgerName: 'b', ...settings }, by);
  expect(await declareKey(queries, other, { ...wanted(hash), workspaceId: another.id }, by)).toEqual({ kind: 'taken' });
});

it('revokes every key of an object, and a later object of its name begins with another', async () => {
  const { queries, wanted, statusOf } = await begin();
  await declareKey(queries, object, wanted('a'), by);
  await declareKey(queries, object, wanted('b'), at(1));
  expect(await leaveKeys(queries, object, at(2))).toBe(2);
  expect([await statusOf('a'), await statusOf('b')]).toEqual(['revoked', 'revoked']);
  expect(await declareKey(queries, object, wanted('b'), at(3))).toEqual({ kind: 'ended' });
  expect(await declareKey(queries, object, wanted('c'), at(4))).toMatchObject({ isNew: true, hasReplaced: false });
});

it('gives a workspace and a key the thresholds of their objects, and the default without any', async () => {
  const { queries, workspace, wanted } = await begin();
  const declareBoth = async (thresholds: Thresholds | undefined, ms: number) => {
    await declareWorkspace(queries, object, { ledgerName: 'team_prod', ...settings, thresholds }, at(ms));
    const declared = await declareKey(queries, object, { ...wanted('a'), thresholds }, at(ms));
    const own = await ownThresholds(queries);
    return [workspace.id, declared.kind === 'declared' ? declared.id : ''].map((id) => own.get(id));
  };
  expect(await declareBoth([90, 10], 1)).toEqual([
    [10, 90],
    [10, 90],
  ]);
  expect(await declareBoth([90, 10], 2)).toEqual([
    [10, 90],
    [10, 90],
  ]);
  expect(await declareBoth([], 3)).toEqual([[], []]);
  expect(await declareBoth(undefined, 4)).toEqual([undefined, undefined]);
  const audit = await listAudit(queries, {}, 20);
  expect(
    audit.flatMap(({ action, after }) => (action.endsWith('.thresholds') ? [[action, after['thresholds']]] : [])),
  ).toEqual([
    ...[
      ['key.thresholds', 'default'],
      ['workspace.thresholds', 'default'],
    ],
    ...[
      ['key.thresholds', []],
      ['workspace.thresholds', []],
    ],
    ...[
      ['key.thresholds', [10, 90]],
      ['workspace.thresholds', [10, 90]],
    ],
  ]);
  await expect(setWorkspaceThresholds(queries, workspace.id, [50], sampleAuthor)).rejects.toMatchObject({
    code: 'declared_by_object',
  });
  const [key] = await listKeys(queries, workspace);
  await expect(setKeyThresholds(queries, key?.id ?? '', [50], sampleAuthor)).rejects.toMatchObject({
    code: 'declared_by_object',
  });
});

it.each([[[]], [[10, 90]], [undefined]])(
  'gives the key before the thresholds of its object: %j',
  async (thresholds) => {
    const { queries, wanted } = await begin();
    await declareKey(queries, object, { ...wanted('a'), thresholds }, by);
    await declareKey(queries, object, { ...wanted('b'), thresholds }, at(1));
    const before = (await findCredentials(queries, ['a'], sampleNow)).get('a')?.key;
    expect(before).toMatchObject({ budget: { period: 'total' } });
    expect((await ownThresholds(queries)).get(before?.id ?? '')).toEqual(thresholds);
  },
);

it('lets only the controller change what an object declares, until the object is gone', async () => {
  const { queries, wanted } = await begin();
  const declared = await declareKey(queries, object, wanted('a'), by);
  const id = declared.kind === 'declared' ? declared.id : '';
  const refusal = { code: 'declared_by_object', message: expect.stringContaining('ApiKey "prod" in namespace "team"') };
  await expect(changeKey(queries, id, { status: 'revoked' }, sampleAuthor)).rejects.toMatchObject(refusal);
  await expect(changeKey(queries, id, { budget: undefined }, sampleAuthor)).rejects.toMatchObject(refusal);
  await expect(changeWorkspace(queries, 'team_prod', { status: 'suspended' }, sampleAuthor)).rejects.toMatchObject({
    code: 'declared_by_object',
  });
  await addCredit(queries, 'team_prod', { amount: 5n, note: undefined }, sampleAuthor);
  expect(await declarationsOf(queries, [id])).toEqual(
    new Map([[id, { kind: 'ApiKey', namespace: 'team', name: 'prod', isLocked: true }]]),
  );
  const present = { Workspace: ['prod'], Identity: [], ApiKey: [], Credit: [] };
  expect(await unlockAbsent(queries, 'team', present)).toBe(1);
  await changeKey(queries, id, { status: 'suspended' }, sampleAuthor);
  expect((await findKey(queries, id)).status).toBe('suspended');
});

it('books a credit once for its name, and once for its amount and note', async () => {
  const { queries, workspace } = await begin();
  const wanted = { workspaceId: workspace.id, amount: 25n, note: 'order 8' };
  const booked = await bookCredit(queries, object, wanted, by);
  expect(booked).toMatchObject({ kind: 'booked', isNew: true });
  expect(await bookCredit(queries, object, wanted, at(1))).toEqual({ ...booked, isNew: false });
  await leaveCredit(queries, object);
  expect(await bookCredit(queries, object, wanted, at(2))).toEqual({ ...booked, isNew: false });
  const renamed = { ...object, name: 'prefix-prod' };
  expect(await bookCredit(queries, renamed, wanted, by)).toMatchObject({ kind: 'booked-as', name: 'prod' });
  expect(await bookCredit(queries, object, { ...wanted, amount: 250n }, by)).toMatchObject({
    ...{ kind: 'booked-otherwise', workspaceName: 'team_prod', credit: { amount: 25n } },
  });
  const { workspace: other } = await declareWorkspace(queries, renamed, { ledgerName: 'b', ...settings }, by);
  expect(await bookCredit(queries, object, { ...wanted, workspaceId: other.id }, by)).toMatchObject({
    kind: 'booked-otherwise',
  });
  expect((await findWorkspace(queries, workspace.id)).balance).toBe(25n);
  expect((await findWorkspace(queries, other.id)).balance).toBe(0n);
});

it('gives no workspace the id of another as its name', async () => {
  const { queries, workspace } = await begin();
  const twin = { namespace: 'ws', name: workspace.id.slice(3), isManaging: true };
  const named = (ledgerName: string) => declareWorkspace(queries, twin, { ledgerName, ...settings }, by);
  await expect(named(workspace.id)).rejects.toMatchObject({ code: 'workspace_name_is_id' });
  expect(await findWorkspace(queries, workspace.id)).toMatchObject({ name: 'team_prod' });
  expect(await named(`${workspace.id}x`)).toMatchObject({ isNew: true });
});

it('keeps a workspace that has keys, and gives a later object of its name the same one', async () => {
  const { queries, workspace, wanted } = await begin();
  await declareKey(queries, object, wanted('a'), by);
  const stays = { eraseName: false };
  expect(await leaveWorkspace(queries, object, stays, by)).toEqual({ kind: 'has-keys', keys: 1 });
  await leaveKeys(queries, object, by);
  // A key of the portal's playground belongs to no object, and does not keep the Workspace.
  await playgroundKey(
    queries,
    {
      ...{ workspace: workspace.id, owner: 'mia', name: 'playground of mia', rate: 1, burst: 1 },
      ...{ textMs: hour, spareMs: 1, refused: undefined },
    },
    by,
  );
  expect(await leaveWorkspace(queries, object, stays, by)).toEqual({ kind: 'left' });
  const ofWorkspace = (await listKeys(queries)).filter(({ workspaceId }) => workspaceId === workspace.id);
  expect(ofWorkspace.map(({ status }) => status)).toEqual(['revoked', 'revoked']);
  expect((await findWorkspace(queries, workspace.id)).status).toBe('suspended');
  const again = await declareWorkspace(queries, object, { ledgerName: 'team_prod', ...settings }, by);
  expect(again).toMatchObject({ isNew: false, workspace: { id: workspace.id, status: 'active' } });
  expect(await leaveWorkspace(queries, object, { eraseName: true }, by)).toEqual({ kind: 'left' });
  const fresh = await declareWorkspace(queries, object, { ledgerName: 'team_prod', ...settings }, by);
  expect(fresh).toMatchObject({ isNew: true });
  expect((await findWorkspace(queries, workspace.id)).name).toBe(`team_prod~${workspace.id}`);
});

it('changes nothing of an account that its object does not manage', async () => {
  const { queries, workspace, wanted, statusOf } = await begin();
  await declareKey(queries, object, wanted('a'), by);
  const loose = { ...object, isManaging: false };
  const other = { ledgerName: 'team_prod', ...settings, maxInFlight: 1 };
  expect((await declareWorkspace(queries, loose, other, by)).workspace).toMatchObject({ maxInFlight: 8 });
  expect(await declareKey(queries, loose, { ...wanted('a'), rate: 99 }, by)).toMatchObject({ kind: 'declared' });
  expect((await findCredentials(queries, ['a'], sampleNow)).get('a')?.key.rate).toBe(1);
  await changeWorkspace(queries, workspace.id, { status: 'suspended' }, sampleAuthor);
  expect((await declareWorkspace(queries, loose, other, by)).workspace).toMatchObject({ status: 'suspended' });
  const [key] = await listKeys(queries, workspace);
  await changeKey(queries, key?.id ?? '', { status: 'suspended' }, sampleAuthor);
  expect(await declareKey(queries, loose, wanted('a'), by)).toMatchObject({ isSuspended: true });
  await changeKey(queries, key?.id ?? '', { status: 'active' }, sampleAuthor);
  expect(await declareKey(queries, loose, wanted('a'), by)).toMatchObject({ isSuspended: false });
  expect(await leaveKeys(queries, loose, by)).toBe(0);
  expect(await statusOf('a')).toBe('active');
});

it('keeps a status that people set against an object until the object declares something else', async () => {
  const { queries, workspace, wanted, statusOf } = await begin();
  await declareKey(queries, object, wanted('a'), by);
  const [key] = await listKeys(queries, workspace);
  const id = key?.id ?? '';
  await expect(changeKey(queries, id, { status: 'suspended' }, sampleAuthor)).rejects.toThrow('declares this');
  await changeKey(queries, id, { status: 'suspended', override: true }, sampleAuthor);
  const [entry] = await listAudit(queries, { objectId: id }, 1);
  expect(entry).toMatchObject({ action: 'key.suspend', actor: sampleAuthor.actor, after: { override: true } });
  const overridden = { isSuspended: true, isOverridden: true };
  expect(await declareKey(queries, object, wanted('a'), at(1))).toMatchObject(overridden);
  // A rotation is no change of the object.
  expect(await declareKey(queries, object, wanted('b'), at(2))).toMatchObject(overridden);
  expect([await statusOf('a'), await statusOf('b')]).toEqual(['suspended', 'suspended']);
  expect(await declareKey(queries, object, { ...wanted('b'), rate: 2 }, at(3))).toMatchObject({
    ...{ isSuspended: false, isOverridden: false },
  });
  expect(await statusOf('b')).toBe('active');
  // A key that is revoked against its object is never accepted again.
  await changeKey(queries, id, { status: 'revoked', override: true }, sampleAuthor);
  expect(await declareKey(queries, object, { ...wanted('b'), rate: 2 }, at(4))).toEqual({ kind: 'ended' });
});

it('keeps the suspension and the settings of a key that it does not manage when its text is replaced', async () => {
  const { queries, workspace, wanted, statusOf } = await begin();
  const loose = { ...object, isManaging: false };
  await declareKey(queries, loose, wanted('a'), by);
  const [key] = await listKeys(queries, workspace);
  await changeKey(queries, key?.id ?? '', { status: 'suspended' }, sampleAuthor);
  expect(await declareKey(queries, loose, { ...wanted('b'), rate: 99 }, at(1))).toMatchObject({ isSuspended: true });
  expect([await statusOf('a'), await statusOf('b')]).toEqual(['suspended', 'suspended']);
  expect((await findCredentials(queries, ['b'], sampleNow)).get('b')?.key.rate).toBe(1);
  await changeKey(queries, key?.id ?? '', { status: 'active' }, sampleAuthor);
  await declareKey(queries, loose, wanted('b'), at(2));
  expect([await statusOf('a'), await statusOf('b')]).toEqual(['suspended', 'active']);
});

it('shows the figures of workspaces and keys, and every change in the audit trail without a hash', async () => {
  const { queries, workspace, wanted } = await begin();
  const declared = await declareKey(queries, object, wanted('hash-of-a'), by);
  await declareKey(queries, object, wanted('hash-of-b'), at(1));
  const id = declared.kind === 'declared' ? declared.id : '';
  const ids = { workspaceIds: [workspace.id], keyIds: [id] };
  const { workspaces, keys } = await accountFigures(queries, ids, sampleNow);
  expect(workspaces.get(workspace.id)).toEqual({ balance: 0n, spentThisMonth: 0n, keys: 2 });
  expect(keys.get(id)).toEqual({ lastUsedAt: undefined, spent: 0n });
  const entries = await listAudit(queries, { workspaceId: workspace.id }, 100);
  expect(new Set(entries.map(({ actor }) => actor.name))).toEqual(new Set([by.actor.name]));
  expect(entries.map(({ action }) => action)).toContain('key.rotate');
  expect(JSON.stringify(entries)).not.toContain('hash-of');
});
