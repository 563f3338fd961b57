import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '../core/clock.ts';
import type { Money } from '../core/money.ts';
import type { MoneyFigures } from '../books/core/money-figures.ts';
import { rememberAnswer } from './services.ts';

/** The ledger is read for a scrape at most this often. */
const sharedMs = 30_000;
const picoUsd = 1e12;

/**
 * Adds gauges of what workspaces and keys have left. Their labels are names of workspaces and ids of keys, of which there
 * are only as many as `read` returns. While the database is down the gauges have no values.
 */
export function addAccountMetrics(
  registry: Registry,
  read: () => Promise<MoneyFigures>,
  clock: Pick<Clock, 'elapsed'>,
): void {
  const figures = rememberAnswer(() => read().catch(() => undefined), clock, sharedMs);
  const ofWorkspaces = (
    name: string,
    help: string,
    value: (of: Omit<MoneyFigures['workspaces'][number], 'name'>) => Money,
  ) =>
    new Gauge({
      ...{ name, help, labelNames: ['workspace'] as const, registers: [registry] },
      async collect() {
        const all = await figures();
        this.reset();
        for (const one of all?.workspaces ?? []) this.set({ workspace: one.name }, Number(value(one)) / picoUsd);
        if (all !== undefined && all.otherWorkspaces.count > 0)
          this.set({ workspace: '' }, Number(value(all.otherWorkspaces)) / picoUsd);
      },
    });
  ofWorkspaces(
    'weir_workspace_balance_usd',
    'Balance of an active workspace. workspace="": the sum of all workspaces that spend less than the named ones.',
    ({ balance }) => balance,
  );
  ofWorkspaces(
    'weir_workspace_available_usd',
    'Balance and credit limit of an active workspace: at zero its requests get 402.',
    ({ available }) => available,
  );
  ofWorkspaces(
    'weir_workspace_spend_usd_per_day',
    'Daily spend of an active workspace, averaged over seven days.',
    ({ spentPerDay }) => spentPerDay,
  );
  new Gauge({
    name: 'weir_key_budget_used_ratio',
    help: 'Share of its budget that an active key has spent in the current period; the keys with the largest shares.',
    labelNames: ['workspace', 'key'] as const,
    registers: [registry],
    async collect() {
      const all = await figures();
      this.reset();
      for (const { workspace, id, spent, limit } of all?.keys ?? [])
        this.set({ workspace, key: id }, Number((spent * 1_000_000n) / limit) / 1e6);
    },
  });
}
