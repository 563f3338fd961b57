// @suite both-databases
import { describe, expect, it } from 'vitest';
import { focusColumnFaults, focusFaults, type FocusRecord } from '../../../test/support/focus-rules.ts';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Outcome } from '../../core/account.ts';
import { costOf, formatUsd, parseUsd, type Usage } from '../../core/money.ts';
import { createIdentity } from '../accounts/identities.ts';
import { openIdentityAccount } from '../accounts/identity-accounts.ts';
import { accountsOfIdentity } from '../accounts/keys.ts';
import { recordModelPrices } from '../accounts/model-prices.ts';
import { createWorkspace } from '../accounts/workspaces.ts';
import { createKey } from '../accounts/keys.ts';
import { focusColumns } from './focus-columns.ts';
import { focusDay } from './focus-day.ts';
import { verifyLedger } from './verify-ledger.ts';

const day = 86_400_000;
const model = 'qwen/qwen3-8b';
const prices = { prompt: 100_000n, completion: 400_000n, inputCacheRead: 10_000n, webSearch: 5_000_000_000n };
const shownPrices = { prompt: '0.0000001', completion: '0.0000004', input_cache_read: '0.00000001' };

/** A workspace with labels, a named key, and an account of an identity; prices are known; and what a day's rows are. */
async function begin() {
  const { queries, settle } = await sampleDatabase();
  const { id } = await createWorkspace(
    queries,
    { name: 'labelled', credit: 10n ** 12n, maxInFlight: 1, labels: { 'cost-centre': '42' } },
    sampleAuthor,
  );
  const { key } = await createKey(queries, { workspace: id, name: 'CI', rate: 1, burst: 1 }, sampleAuthor);
  const rules = { name: 'jobs', issuer: 'cluster', audience: 'weir', match: ['true'], workspace: { name: 'labelled' } };
  const limits = { each: 'subject', tags: {}, isBound: false, rate: 1, burst: 1 } as const;
  const identity = await createIdentity(queries, { ...rules, ...limits }, sampleAuthor);
  await openIdentityAccount(queries, { identityId: identity.id, workspace: 'labelled', subject: 'cron' }, sampleAuthor);
  const [account] = await accountsOfIdentity(queries, identity.id, 1);
  await recordModelPrices(queries, new Map([[model, shownPrices]]), sampleAuthor);
  let number = 0;
  const use = (usage: Usage, changes: Partial<Outcome> = {}) =>
    settle([
      sampleOutcome({
        ...{ workspaceId: id, keyId: key.id, requestId: `r${(number += 1)}`, usage, cost: costOf(usage, prices) },
        ...{ startedAt: sampleNow + 5, ...changes },
      }),
    ]);
  const rowsOf = async (at = sampleNow): Promise<readonly FocusRecord[]> =>
    (await focusDay(queries, { day: at, provider: 'Platform team' })).map((row) =>
      Object.fromEntries(focusColumns.map((name, index) => [name, row[index] ?? null])),
    );
  const cells = async (...names: readonly string[]) => (await rowsOf()).map((row) => names.map((name) => row[name]));
  return { queries, key, accountId: account?.id ?? '', identity, use, rowsOf, cells };
}

describe('a day of FOCUS', () => {
  it('has a row for each key, model and meter with quantity and unit price, and each row keeps the published rules', async () => {
    const { queries, key, accountId, identity, use, rowsOf, cells } = await begin();
    await use({ promptTokens: 1_000, cachedTokens: 400, completionTokens: 30, webSearches: 2 });
    await use({ promptTokens: 10, completionTokens: 1 }, { keyId: accountId });
    await use({ promptTokens: 10, completionTokens: 1 }, { startedAt: sampleNow + day });
    expect(focusColumnFaults(focusColumns)).toEqual([]);
    const rows = [...(await rowsOf()), ...(await rowsOf(sampleNow + day))];
    for (const row of rows) expect(focusFaults(row)).toEqual([]);
    const own = [key.id, 'CI', null];
    const ofIdentity = [accountId, 'jobs: cron', identity.id];
    const shown = await cells(
      'ResourceId',
      'ResourceName',
      'SubAccountId',
      'SkuMeter',
      'PricingQuantity',
      'ListUnitPrice',
      'BilledCost',
    );
    expect(new Set(shown.map((row) => JSON.stringify(row)))).toEqual(
      new Set(
        [
          [...own, 'Prompt tokens', '600', '0.0000001', '0.00006'],
          [...own, 'Cached prompt tokens', '400', '0.00000001', '0.000004'],
          [...own, 'Completion tokens', '30', '0.0000004', '0.000012'],
          [...own, 'Web searches', '2', '0.005', '0.01'],
          [...ofIdentity, 'Prompt tokens', '10', '0.0000001', '0.000001'],
          [...ofIdentity, 'Completion tokens', '1', '0.0000004', '0.0000004'],
        ].map((row) => JSON.stringify(row)),
      ),
    );
    expect(rows[0]).toMatchObject({
      ...{ BillingAccountName: 'labelled', ProviderName: 'Platform team', Tags: '{"label/cost-centre":"42"}' },
      ...{ BillingPeriodStart: '2026-07-01T00:00:00Z', BillingPeriodEnd: '2026-08-01T00:00:00Z' },
      ...{ ChargePeriodStart: '2026-07-01T00:00:00Z', ChargePeriodEnd: '2026-07-02T00:00:00Z' },
    });
    const billed = rows.reduce((sum, { BilledCost: cost }) => sum + (parseUsd(cost ?? '') ?? 0n), 0n);
    const books = await verifyLedger(queries);
    expect(formatUsd(billed)).toBe(formatUsd(books.workspaces.reduce((sum, { costs }) => sum + costs, 0n)));
  });

  it('has one row for the amount where the prices of the day do not explain it', async () => {
    const { queries, use, rowsOf, cells } = await begin();
    await use({ promptTokens: 10, completionTokens: 1 });
    await use({ promptTokens: 10, completionTokens: 1 }, { cost: 7n });
    const names = [
      'SkuMeter',
      'ConsumedQuantity',
      'ConsumedUnit',
      'PricingQuantity',
      'PricingUnit',
      'ListUnitPrice',
      'BilledCost',
    ];
    expect(await cells(...names)).toEqual([
      ['Requests', '2', 'Requests', '0.000001400007', 'USD', '1', '0.000001400007'],
    ]);
    expect((await rowsOf()).flatMap(focusFaults)).toEqual([]);
    // With searches, a price that changed on the day leaves two unknowns.
    await recordModelPrices(queries, new Map([[model, { ...shownPrices, prompt: '1' }]]), {
      ...sampleAuthor,
      now: sampleNow + 9,
    });
    await use({ promptTokens: 1, completionTokens: 0, webSearches: 1 }, { modelId: model });
    expect(await cells('SkuMeter')).toEqual([['Requests']]);
  });

  it.each<[string, readonly number[], number | undefined]>([
    ['once, before the day', [-day], 0],
    ['once, in the day', [9], 0],
    ['once, after the day', [2 * day], 0],
    ['before the day, and again before it', [-2 * day, -day], 1],
    ['before the day, and again at its first moment', [-day, 0], 1],
    ['before the day, and again in it', [-day, 9], undefined],
    ['in the day, and again in it', [9, 10], undefined],
    ['before the day, and again at its end', [-day, day], 0],
  ])('with searches of a model whose prices were recorded %s, meters or one row', async (_, moments, inForce) => {
    const { queries, use, cells } = await begin();
    const [priced, prompts] = ['priced/model', ['0.0000001', '0.0000002']];
    for (const [index, at] of moments.entries()) {
      const recorded = new Map([[priced, { ...shownPrices, prompt: prompts[index] ?? '' }]]);
      await recordModelPrices(queries, recorded, { ...sampleAuthor, now: sampleNow + at });
    }
    const prompt = prompts[inForce ?? 0] ?? '';
    const cost = 10n * (parseUsd(prompt) ?? 0n) + prices.webSearch;
    await use({ promptTokens: 10, completionTokens: 0, webSearches: 1 }, { modelId: priced, cost });
    expect(await cells('SkuMeter', 'ListUnitPrice')).toEqual(
      inForce === undefined
        ? [['Requests', '1']]
        : [
            ['Prompt tokens', prompt],
            ['Web searches', '0.005'],
          ],
    );
  });

  it('has the tags of requests: those that all have, and rows by the first that differs', async () => {
    const { use, rowsOf, cells } = await begin();
    const tokens = { promptTokens: 10, completionTokens: 0 };
    await use(tokens, { tags: 'app=x,env=prod,team=a' });
    await use(tokens, { tags: 'app=x,env=test,team=b' });
    await use(tokens, { tags: 'app=x,team=b' });
    const tags = await cells('Tags', 'PricingQuantity');
    const label = { 'label/cost-centre': '42' };
    expect(tags.map(([text, quantity]) => [JSON.parse(text ?? ''), quantity])).toEqual([
      [{ ...label, app: 'x' }, '10'],
      [{ ...label, app: 'x', env: 'prod' }, '10'],
      [{ ...label, app: 'x', env: 'test' }, '10'],
    ]);
    expect((await rowsOf()).flatMap(focusFaults)).toEqual([]);
  });

  it('has no row where nothing was used', async () => {
    const { use, rowsOf } = await begin();
    await use({ promptTokens: 0, completionTokens: 0 }, { kind: 'failed' });
    expect(await rowsOf()).toEqual([]);
  });
});

it('the rules find what a row lacks', async () => {
  const { use, rowsOf } = await begin();
  await use({ promptTokens: 10, completionTokens: 0 });
  const [row = {}] = await rowsOf();
  expect(
    focusFaults({
      ...row,
      ListCost: '0.1',
      BilledCost: null,
      ServiceCategory: 'AI',
      ChargePeriodEnd: '2026-08-02T00:00:00Z',
    }),
  ).toEqual([
    'BilledCost is null',
    'ServiceCategory may not be AI',
    'PricingQuantity × ListUnitPrice is ListCost',
    'the charge period lies in the billing period, or before it in a correction',
  ]);
  expect(focusColumnFaults(['Cost', ...focusColumns.slice(1)])).toEqual(['BilledCost is missing', 'Cost is not known']);
});
