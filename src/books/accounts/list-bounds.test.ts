// @suite both-databases
import type { KyselyPlugin } from 'kysely';
import { describe, expect, it } from 'vitest';
import { Refusal } from '../core/operator-refusals.ts';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { listBounds } from '../../core/limits.ts';
import { changeKey } from './change-keys.ts';
import { prepareKey } from './declared-keys.ts';
import { declareWorkspace, leaveWorkspace } from './declared-workspaces.ts';
import { declarationsOf } from './declarations.ts';
import { findCredential } from './find-credentials.ts';
import { createIdentity } from './identities.ts';
import { openIdentityAccount } from './identity-accounts.ts';
import { createKey } from './keys.ts';
import { inviteMember } from './members.ts';
import { rotateKey } from './rotate-key.ts';
import { createServiceAccount } from './service-accounts.ts';
import { listTagBudgets, setTagBudget } from './tag-budgets.ts';

const budget = { limit: 100n, period: 'month' } as const;
const createdAt = BigInt(sampleNow);
type Sample = Awaited<ReturnType<typeof sampleDatabase>>;

const rowsAtOnce = 500;

async function inParts<Row>(rows: readonly Row[], insert: (some: readonly Row[]) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < rows.length; at += rowsAtOnce) await insert(rows.slice(at, at + rowsAtOnce));
}

/** Makes a list longer without asking whether it may be. */
const fill = {
  workspaces: async ({ queries }: Sample, count: number) => {
    const rows = Array.from({ length: count }, (_, index) => ({
      ...({ account_id: `ws_${index}`, kind: 'Workspace', namespace: 'team', name: `gone-${index}` } as const),
      ...({ is_locked: 0n, state: 'current', since: createdAt } as const),
    }));
    await inParts(rows, (some) => queries.insertInto('declarations').values(some).execute());
  },
  tagBudgets: async ({ queries, workspace }: Sample, count: number) => {
    const tags = Array.from({ length: count }, (_, index) => ({
      ...{ workspace_id: workspace.id, name: 'team', value: `t${index}` },
    }));
    await inParts(tags, async (some) => {
      const rows = await queries.insertInto('ledger_tags').values(some).returning('number').execute();
      const columns = { budget_limit: budget.limit, budget_period: budget.period };
      await queries
        .insertInto('tag_budgets')
        .values(rows.map(({ number }) => ({ tag: Number(number), ...columns })))
        .execute();
    });
  },
  keys: async ({ queries, key }: Sample, count: number) => {
    const row = await queries.selectFrom('keys').selectAll().where('id', '=', key.id).executeTakeFirstOrThrow();
    const rows = Array.from({ length: count }, (_, index) => ({ ...row, id: `key_${index}`, hash: `hash ${index}` }));
    await inParts(rows, (some) => queries.insertInto('keys').values(some).execute());
  },
  members: async ({ queries, workspace }: Sample, count: number) => {
    const rows = Array.from({ length: count }, (_, index) => ({
      ...{ id: `member_${index}`, workspace_id: workspace.id, address: `a${index}@example.com`, subject: null },
      ...{ name: null, role: 'viewer' as const, source: 'invitation' as const, created_at: createdAt },
      last_sign_in_at: null,
    }));
    await inParts(rows, (some) => queries.insertInto('members').values(some).execute());
  },
  identities: async ({ queries }: Sample, count: number) => {
    const rows = Array.from({ length: count }, (_, index) => ({
      ...{ id: `identity_${index}`, name: `i${index}`, status: 'active' as const, issuer: 'cluster', audience: 'weir' },
      ...{ rules: '{}', budget_limit: null, budget_period: null, rate: 1n, burst: 1n, models: null },
      created_at: createdAt,
    }));
    await inParts(rows, (some) => queries.insertInto('identities').values(some).execute());
  },
  serviceAccounts: async ({ queries }: Sample, count: number) => {
    const rows = Array.from({ length: count }, (_, index) => ({
      ...{ id: `sa_${index}`, name: `script-${index}`, hash: `hash ${index}`, prefix: 'p', scopes: 'usage:read' },
      ...{ workspaces: null, created_at: createdAt, expires_at: createdAt + 1_000n, revoked_at: null },
      last_used_at: null,
    }));
    await inParts(rows, (some) => queries.insertInto('service_accounts').values(some).execute());
  },
};

const identity = {
  ...({
    issuer: 'cluster',
    audience: 'weir',
    match: ['true'],
    workspace: { name: 'acme' },
    each: 'identity',
    tags: {},
  } as const),
  ...{ isBound: false, rate: 1, burst: 1 },
} as const;
const account = { scopes: ['usage:read'], expiresAt: sampleNow + 1_000 } as const;
const object = { namespace: 'team', name: 'prod', uid: 'u', isManaging: true } as const;
const declared = {
  ...({ prefix: 'sk-weir', status: 'active', rate: 1, burst: 1, name: 'prod' } as const),
  ...{ budget: undefined, thresholds: undefined, expiresAt: undefined, models: undefined },
} as const;

interface Row {
  readonly list: keyof typeof fill;
  readonly max: number;
  /** Entries that the sample has already. */
  readonly present: number;
  readonly field: string;
  readonly add: (sample: Sample, name: string) => Promise<unknown>;
}

const workspaceSettings = { status: 'active', maxInFlight: 8, creditLimit: 0n, thresholds: undefined } as const;
const declareNamed = ({ queries }: Sample, name: string, namespace = 'team') =>
  declareWorkspace(
    queries,
    { ...object, name, namespace },
    { ...workspaceSettings, ledgerName: `${namespace}_${name}` },
    sampleAuthor,
  );

const rows: readonly Row[] = [
  { ...{ list: 'workspaces', max: listBounds.maxWorkspaces, present: 0, field: 'namespace' }, add: declareNamed },
  {
    ...{ list: 'tagBudgets', max: listBounds.maxTagBudgets, present: 0, field: 'tag' },
    add: ({ queries }, name) => setTagBudget(queries, 'acme', { tag: `app=${name}`, budget }, sampleAuthor),
  },
  {
    ...{ list: 'keys', max: listBounds.maxKeys, present: 1, field: 'workspace' },
    add: ({ queries }) => createKey(queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor),
  },
  {
    ...{ list: 'keys', max: listBounds.maxKeys, present: 1, field: 'workspace' },
    add: ({ queries, key }) => rotateKey(queries, key.id, { overlapMs: 1_000 }, sampleAuthor),
  },
  {
    ...{ list: 'keys', max: listBounds.maxKeys, present: 1, field: 'workspace' },
    add: ({ queries, workspace }, name) =>
      prepareKey(queries, { ...object, name }, { ...declared, hash: name, workspaceId: workspace.id }, sampleAuthor),
  },
  {
    ...{ list: 'members', max: listBounds.maxMembers, present: 0, field: 'address' },
    add: ({ queries }, name) =>
      inviteMember(queries, 'acme', { address: `${name}@example.com`, role: 'member' }, sampleAuthor),
  },
  {
    ...{ list: 'identities', max: listBounds.maxIdentities, present: 0, field: 'name' },
    add: ({ queries }, name) => createIdentity(queries, { ...identity, name }, sampleAuthor),
  },
  {
    ...{ list: 'serviceAccounts', max: listBounds.maxServiceAccounts, present: 0, field: 'name' },
    add: ({ queries }, name) =>
      createServiceAccount(queries, { ...account, name, workspaces: undefined }, sampleAuthor),
  },
];

describe('a list that a tenant can make longer', () => {
  it.each(rows)('has its bound: $list, $max, refused for the field $field', async ({ list, max, present, ...row }) => {
    const sample = await sampleDatabase();
    await fill[list](sample, max - present - 1);
    await row.add(sample, 'last');
    const refused = row.add(sample, 'beyond');
    await expect(refused).rejects.toBeInstanceOf(Refusal);
    await expect(refused).rejects.toMatchObject({ code: 'list_full', field: row.field });
    await expect(refused).rejects.toThrow(` has at most ${max} `);
  });

  it('has room again when an entry is gone: a budget that is removed, a key that is revoked', async () => {
    const sample = await sampleDatabase();
    const { queries, key } = sample;
    await fill.tagBudgets(sample, listBounds.maxTagBudgets);
    await fill.keys(sample, listBounds.maxKeys - 1);
    // A budget that exists can be changed.
    await setTagBudget(queries, 'acme', { tag: 'team=t0', budget: { ...budget, limit: 5n } }, sampleAuthor);
    await setTagBudget(queries, 'acme', { tag: 'team=t0', budget: undefined }, sampleAuthor);
    const added = await setTagBudget(queries, 'acme', { tag: 'app=new', budget }, sampleAuthor);
    expect(added).toHaveLength(listBounds.maxTagBudgets);
    await changeKey(queries, key.id, { status: 'revoked' }, sampleAuthor);
    const made = await createKey(queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor);
    expect(made.key.status).toBe('active');
  });

  it('does not count the accounts of identities among the keys of a workspace', async () => {
    const sample = await sampleDatabase();
    const { queries } = sample;
    const { id: identityId } = await createIdentity(queries, { ...identity, name: 'search' }, sampleAuthor);
    await openIdentityAccount(queries, { identityId, workspace: 'acme', subject: 'a' }, sampleAuthor);
    await fill.keys(sample, listBounds.maxKeys - 2);
    const made = await createKey(queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor);
    expect(made.key.status).toBe('active');
    const beyond = createKey(queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor);
    await expect(beyond).rejects.toMatchObject({ code: 'list_full' });
    expect(
      await openIdentityAccount(queries, { identityId, workspace: 'acme', subject: 'b' }, sampleAuthor),
    ).toBeDefined();
  });

  it('counts workspaces of a namespace whose objects are gone or names erased, and not those of its neighbours', async () => {
    const sample = await sampleDatabase();
    const { queries } = sample;
    await fill.workspaces(sample, listBounds.maxWorkspaces - 2);
    const { workspace } = await declareNamed(sample, 'kept');
    const erased = await declareNamed(sample, 'erased');
    const leave = (name: string, eraseName: boolean) =>
      leaveWorkspace(queries, { ...object, name }, { eraseName }, sampleAuthor);
    await leave('kept', false);
    await leave('erased', true);
    await expect(declareNamed(sample, 'erased')).rejects.toMatchObject({ field: 'namespace' });
    // A workspace that exists is found again.
    expect(await declareNamed(sample, 'kept')).toMatchObject({ isNew: false, workspace: { id: workspace.id } });
    expect(await declareNamed(sample, 'new', 'neighbour')).toMatchObject({ isNew: true });
    const declared = await declarationsOf(queries, [workspace.id, erased.workspace.id]);
    expect([...declared.keys()]).toEqual([workspace.id]);
  });

  it('bounds the workspaces of a service account', async () => {
    const { queries } = await sampleDatabase();
    const make = (count: number) => {
      const workspaces = Array.from({ length: count }, () => 'acme');
      return createServiceAccount(queries, { ...account, name: `s${count}`, workspaces }, sampleAuthor);
    };
    const max = listBounds.maxServiceAccountWorkspaces;
    await make(max);
    await expect(make(max + 1)).rejects.toMatchObject({ field: 'workspaces' });
  });

  it('bounds the tags that budgets leave behind, because tags are permanent', async () => {
    const sample = await sampleDatabase();
    const { queries, workspace } = sample;
    const { maxTagValues, maxTagBudgets } = listBounds;
    const tags = Array.from({ length: maxTagValues + maxTagBudgets - 1 }, (_, index) => ({
      ...{ workspace_id: workspace.id, name: 'team', value: `t${index}` },
    }));
    await inParts(tags, (some) => queries.insertInto('ledger_tags').values(some).execute());
    const set = (tag: string) => setTagBudget(queries, 'acme', { tag, budget }, sampleAuthor);
    await set('team=last');
    await expect(set('team=beyond')).rejects.toMatchObject({ code: 'list_full', field: 'tag' });
    await set('team=t1');
    // Removing what is not there adds no tag.
    const removed = setTagBudget(queries, 'acme', { tag: 'team=beyond', budget: undefined }, sampleAuthor);
    expect(await removed).toHaveLength(2);
  });
});

describe('the number of queries', () => {
  async function queriesFor(budgets: number) {
    const sample = await sampleDatabase();
    await fill.tagBudgets(sample, budgets);
    const counted = { queries: 0 };
    const counting: KyselyPlugin = {
      transformQuery: ({ node }) => {
        counted.queries += 1;
        return node;
      },
      transformResult: ({ result }) => Promise.resolve(result),
    };
    const queries = sample.queries.withPlugin(counting);
    const credential = await findCredential(queries, sample.text, sampleNow);
    expect(credential?.tagBudgets?.size).toBe(budgets);
    const read = counted.queries;
    await listTagBudgets(queries, sample.workspace.id, sampleNow);
    return { read, listed: counted.queries - read };
  }

  it('of a credential, and of the list, is the same with one budget of a tag as with all', async () => {
    const one = await queriesFor(1);
    expect(one.read).toBeLessThan(6);
    expect(await queriesFor(listBounds.maxTagBudgets)).toEqual(one);
  });
});
