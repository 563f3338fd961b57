import { expect, it, vi } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import { sampleDatabase, sampleNow, temporaryFolder } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { sampleRefusal } from '../../../test/support/sample-refusal.ts';
import { databaseUrl } from '../../../test/support/sample-store.ts';
import { recordModelPrices } from '../../books/accounts/model-prices.ts';
import { refusalRow } from '../../books/core/refusal.ts';

// Each command is a process of its own, and this machine may be busy with other tests.
vi.setConfig({ testTimeout: 60_000 });

async function begin() {
  const { ids, location, settle, queries } = await sampleDatabase('10');
  const env = { WEIR_DATABASE_URL: databaseUrl(location) };
  // A folder without services: the ledger alone answers.
  const explain = (id: string, ...args: readonly string[]) =>
    runCommand(['explain', id, ...args], { env, cwd: temporaryFolder() });
  return { ids, settle, queries, explain };
}

it('shows the unit prices that gave the bill, and says so when they are not known', async () => {
  const { ids, settle, queries, explain } = await begin();
  const usage = { promptTokens: 100, completionTokens: 10, cachedTokens: 40 };
  const prices = { prompt: '0.000002', completion: '0.000005', input_cache_read: '0.000001' };
  const bill = { ...ids, modelId: 'test/model', usage, startedAt: sampleNow };
  await recordModelPrices(queries, new Map([['test/model', prices]]), {
    actor: { kind: 'service', name: 'prices' },
    now: sampleNow - 1_000,
  });
  await settle([sampleOutcome({ ...bill, requestId: 'r1', correlationId: 'look-1', cost: 210_000_000n })]);
  await settle([sampleOutcome({ ...bill, requestId: 'r2', correlationId: 'look-2', cost: 211_000_000n })]);
  const line = 'Prices in USD per million tokens: 2 input, 1 cached input, 5 output.';
  expect(await explain('look-1')).toMatchObject({ stderr: '', stdout: expect.stringContaining(line) as string });
  expect(JSON.parse((await explain('look-1', '--json')).stdout)).toMatchObject({
    bill: { cost: '0.00021', prices: { ...prices, web_search: null } },
  });
  expect((await explain('look-2')).stdout).toContain('Its unit prices are not known');
  expect(JSON.parse((await explain('look-2', '--json')).stdout)).toMatchObject({ bill: { prices: null } });
});

it('shows the tag whose budget refused a request, with the limit and the spend', async () => {
  const { ids, queries, explain } = await begin();
  const reached = [{ tag: 'team=search', limit: '0.02', spent: '0.0201' }];
  const refused = sampleRefusal({ ...ids, requestId: 'q1', code: 'insufficient_funds', limit: 'tag-budget', reached });
  await queries.insertInto('refusals').values(refusalRow(refused)).execute();
  expect((await explain('q1')).stdout).toContain('(tag-budget), team=search: 0.0201 of 0.02 USD spent.');
  expect(JSON.parse((await explain('q1', '--json')).stdout)).toMatchObject({
    failure: { limit: 'tag-budget', reached },
    bill: null,
  });
});
