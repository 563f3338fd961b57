// @suite both-databases
import { expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { avoidableLimits } from './avoidable-limits.ts';
import { changeKey } from './change-keys.ts';
import { createIdentity } from './identities.ts';
import { openIdentityAccount } from './identity-accounts.ts';
import { createKey } from './keys.ts';
import { playgroundKey } from './playground-keys.ts';
import { setTagBudget } from './tag-budgets.ts';
import { changeWorkspace, createWorkspace } from './workspaces.ts';

const budget = { limit: 100n, period: 'month' } as const;
const forPerson = { owner: 'ada', rate: 9, burst: 9, textMs: 60_000, spareMs: 1, refused: undefined };
const limits = { rate: 9, burst: 9 };

it('a limit of a tag can be avoided by each key that has no such limit of its own', async () => {
  const { queries, ids } = await sampleDatabase();
  await createWorkspace(queries, { name: 'without-limits', credit: 0n, maxInFlight: 9 }, sampleAuthor);
  await createKey(queries, { ...limits, workspace: 'without-limits' }, sampleAuthor);
  await createKey(queries, { ...limits, workspace: 'acme', name: 'ci' }, sampleAuthor);
  const avoidable = () => avoidableLimits(queries, sampleNow);
  expect(await avoidable()).toEqual([]);
  const tagTokensPerMinute = { 'team=search': 1_000, 'app=web': 5 };
  await changeWorkspace(queries, 'acme', { tagTokensPerMinute }, sampleAuthor);
  const found = { workspace: 'acme', tags: ['app=web', 'team=search'], callers: 2, caller: 'ci' };
  expect(await avoidable()).toEqual([found]);
  await changeKey(queries, ids.keyId, { tokensPerMinute: 500 }, sampleAuthor);
  expect(await avoidable()).toEqual([{ ...found, callers: 1 }]);
  // A limit that is not enforced limits nobody.
  await changeKey(queries, ids.keyId, { notEnforced: ['tokens'] }, sampleAuthor);
  expect(await avoidable()).toEqual([{ ...found, callers: 2 }]);
  await changeWorkspace(queries, 'acme', { tokensPerMinute: 9_000 }, sampleAuthor);
  expect(await avoidable()).toEqual([]);
  await changeWorkspace(queries, 'acme', { notEnforced: ['workspace-tokens'] }, sampleAuthor);
  expect(await avoidable()).toEqual([{ ...found, callers: 2 }]);
  await changeWorkspace(queries, 'acme', { notEnforced: ['workspace-tokens', 'tag-tokens'] }, sampleAuthor);
  expect(await avoidable()).toEqual([]);
});

it('a budget of a tag can be avoided by each key without a budget', async () => {
  const { queries, ids } = await sampleDatabase();
  await setTagBudget(queries, 'acme', { tag: 'team=search', budget }, sampleAuthor);
  await changeKey(queries, ids.keyId, { name: 'web', tokensPerMinute: 500 }, sampleAuthor);
  const found = { workspace: 'acme', tags: ['team=search'], callers: 1, caller: 'web' };
  expect(await avoidableLimits(queries, sampleNow)).toEqual([found]);
  await changeKey(queries, ids.keyId, { budget }, sampleAuthor);
  expect(await avoidableLimits(queries, sampleNow)).toEqual([]);
});

it('keys that let nobody in, and those of the playground, avoid nothing', async () => {
  const { queries, ids } = await sampleDatabase();
  await setTagBudget(queries, 'acme', { tag: 'team=search', budget }, sampleAuthor);
  await changeKey(queries, ids.keyId, { status: 'suspended' }, sampleAuthor);
  await createKey(queries, { ...limits, workspace: 'acme', expiresAt: sampleNow + 1 }, sampleAuthor);
  await playgroundKey(queries, { ...forPerson, workspace: ids.workspaceId }, sampleAuthor);
  expect(await avoidableLimits(queries, sampleNow)).toHaveLength(1);
  expect(await avoidableLimits(queries, sampleNow + 1)).toEqual([]);
});

it('an identity that puts the tag on requests lets nobody leave it out', async () => {
  const { queries, ids } = await sampleDatabase();
  await changeKey(queries, ids.keyId, { status: 'revoked' }, sampleAuthor);
  const tagTokensPerMinute = { 'team=search': 1_000, 'app=web': 5 };
  await changeWorkspace(queries, 'acme', { tagTokensPerMinute }, sampleAuthor);
  const rules = { issuer: 'https://issuer.example', audience: 'weir', match: ['true'], isBound: false, ...limits };
  const { id } = await createIdentity(
    queries,
    {
      ...rules,
      name: 'prod',
      workspace: { name: 'acme' },
      each: 'identity',
      tags: { team: 'claims.team' },
    },
    sampleAuthor,
  );
  await openIdentityAccount(queries, { identityId: id, workspace: 'acme', subject: undefined }, sampleAuthor);
  expect(await avoidableLimits(queries, sampleNow)).toEqual([
    { workspace: 'acme', tags: ['app=web'], callers: 1, caller: 'of the identity prod' },
  ]);
});
