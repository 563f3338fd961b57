import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import type { MoneyFigures } from '../books/core/money-figures.ts';
import { addAccountMetrics } from './account-metrics.ts';

const usd = 1_000_000_000_000n;
const figures: MoneyFigures = {
  workspaces: [{ name: 'acme', balance: -usd, available: usd, spentPerDay: usd / 2n }],
  otherWorkspaces: { count: 3, balance: 6n * usd, available: 6n * usd, spentPerDay: 0n },
  keys: [{ id: 'key_1', workspace: 'acme', spent: usd, limit: 3n * usd }],
};

it('shows what is left, and reads the ledger at most twice a minute', async () => {
  const registry = new Registry();
  const clock = createFakeClock();
  let reads = 0;
  let isDown = false;
  const read = async (): Promise<MoneyFigures> => {
    reads += 1;
    if (isDown) throw new Error('the database is down');
    return figures;
  };
  addAccountMetrics(registry, read, clock);
  const lines = async () =>
    (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const shown = [
    'weir_workspace_balance_usd{workspace="acme"} -1',
    'weir_workspace_balance_usd{workspace=""} 6',
    'weir_workspace_available_usd{workspace="acme"} 1',
    'weir_workspace_available_usd{workspace=""} 6',
    'weir_workspace_spend_usd_per_day{workspace="acme"} 0.5',
    'weir_workspace_spend_usd_per_day{workspace=""} 0',
    'weir_key_budget_used_ratio{workspace="acme",key="key_1"} 0.333333',
  ];
  expect(await lines()).toEqual(shown);
  expect(await lines()).toEqual(shown);
  expect(reads).toBe(1);
  isDown = true;
  clock.advance(30_000);
  expect(await lines()).toEqual([]);
  expect(reads).toBe(2);
});
