// @suite both-databases
import { expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { fundsOf } from '../../gateway/admission/limits.ts';
import { countedTagsOf } from '../../core/tags.ts';
import { findCredential } from '../accounts/find-credentials.ts';
import { setTagBudget } from '../accounts/tag-budgets.ts';
import { listBounds } from '../../core/limits.ts';
import { readCountedTags } from './counted-tags.ts';

const budget = { limit: 100n, period: 'month' } as const;

/**
 * A workspace with all names that requests can add, one of which has all values, and with budgets of tags. `free`: fewer of both,
 * or of names and of values.
 */
async function fullWorkspace(budgets: readonly string[], free: number | readonly [number, number] = 0) {
  const [freeNames, freeValues] = typeof free === 'number' ? [free, free] : free;
  const sample = await sampleDatabase();
  const { queries, workspace, ids, settle, text } = sample;
  const tags = [
    ...Array.from({ length: listBounds.maxTagNames - 1 - freeNames }, (_, index) => ({
      name: `n${index}`,
      value: '1',
    })),
    ...Array.from({ length: listBounds.maxTagValues - freeValues }, (_, index) => ({
      name: 'id',
      value: String(index),
    })),
  ];
  await queries
    .insertInto('ledger_tags')
    .values(tags.map((tag) => ({ ...tag, workspace_id: workspace.id })))
    .execute();
  for (const tag of budgets) await setTagBudget(queries, 'acme', { tag, budget }, sampleAuthor);
  let requests = 0;
  return {
    queries,
    workspace,
    credential: () => findCredential(queries, text, sampleNow),
    spend: (sent: string) => {
      requests += 1;
      return settle([
        sampleOutcome({ ...ids, requestId: `r${requests}`, tags: sent, cost: 60n, startedAt: sampleNow }),
      ]);
    },
  };
}

it.each([
  ['a name', 'x=1', 'other=other'],
  ['two names', 'x=1,y=2', 'other=other'],
  ['a value', 'id=new', 'id=other'],
])('%s beyond the bounds counts against the budget of what stands for it, before and after', async (_, sent, tag) => {
  const { credential, spend } = await fullWorkspace([tag]);
  const { spendings } = await spend(sent);
  expect(spendings.filter(({ on }) => 'tag' in on)).toEqual([
    { on: { workspaceId: expect.any(String), tag, replaced: true }, day: sampleNow, amount: 60n },
  ]);
  const known = await credential();
  if (known === undefined) throw new Error('there is no credential');
  const counted = countedTagsOf(sent, known.countedTags);
  expect(counted).toBe(tag);
  expect(fundsOf(known, counted).tags).toEqual([{ tag, left: 40n }]);
  // Twin: by the tags that were sent, no budget holds the request.
  expect(fundsOf(known, sent).tags).toBeUndefined();
  expect((await spend(tag)).spendings.at(-1)?.on).toEqual({ workspaceId: known.workspace.id, tag });
});

it.each([
  ['x=1', 'other=other'],
  ['id=new', 'id=other'],
])('admission counts %s as the ledger does, with room for it and at the bound', async (sent, tag) => {
  for (const free of [2, 1, 0]) {
    const { credential, spend } = await fullWorkspace([tag], free);
    const counted = countedTagsOf(sent, (await credential())?.countedTags);
    const { spendings } = await spend(sent);
    const held = spendings.flatMap(({ on }) => ('tag' in on ? [on.tag] : []));
    // Without a budget of the tag itself, the ledger has nothing to take it from.
    expect([free, counted === tag]).toEqual([free, held.includes(tag)]);
  }
});

it('a workspace with room for all tags is missing', async () => {
  const { credential } = await fullWorkspace(['other=other', 'id=other'], 2);
  expect(await credential()).toHaveProperty('countedTags', undefined);
});

it('a tag beyond the bounds that has a budget of its own, and each tag that is known, counts as itself', async () => {
  const { credential } = await fullWorkspace(['id=own', 'id=other', 'x=1', 'other=other']);
  const known = await credential();
  const counted = (sent: string) => countedTagsOf(sent, known?.countedTags);
  expect(['id=own', 'id=7', 'x=1', 'n3=new', 'id=new,x=2'].map(counted)).toEqual([
    ...['id=own', 'id=7', 'x=1', 'n3=new', 'id=other,x=2'],
  ]);
});

it.each<[string, readonly [number, number], string]>([
  ['names', [1, 0], 'id=other,x=1'],
  ['values', [0, 1], 'id=new,other=other'],
  ['neither', [0, 0], 'id=other,other=other'],
])('in a workspace with room for %s, a new tag counts as itself where it has room', async (_, free, expected) => {
  const { queries, workspace } = await fullWorkspace([], free);
  const counted = await readCountedTags(queries, new Map([[workspace.id, ['id=other', 'other=other']]]));
  expect(countedTagsOf('id=new,x=1', counted.get(workspace.id))).toBe(expected);
});

it.each<[string, string, number, boolean]>([
  ['no budget of "other"', 'id=own', 0, false],
  ['a budget of "other" for a name with room', 'n1=other', 1, false],
  ['a budget of "other" for a full name', 'id=other', 2, true],
  ['a budget of "other" for all further names', 'other=other', 1, true],
])('with %s, only the tags that it needs are read', async (_, budgeted, statements, isCounted) => {
  const { queries, workspace } = await fullWorkspace([]);
  let read = 0;
  const counting = queries.withPlugin({
    transformQuery: ({ node }) => {
      read += 1;
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  });
  const counted = await readCountedTags(counting, new Map([[workspace.id, [budgeted]]]));
  expect([read, counted.has(workspace.id)]).toEqual([statements, isCounted]);
});
