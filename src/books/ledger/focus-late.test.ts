// @suite both-databases
import { expect, it } from 'vitest';
import { focusFaults, type FocusRecord } from '../../../test/support/focus-rules.ts';
import { sampleAuthor, sampleDatabase } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { formatUsd, parseUsd } from '../../core/money.ts';
import { changeWorkspace } from '../accounts/workspaces.ts';
import { monthStart, nextMonth } from '../core/statement.ts';
import { focusColumns, type FocusRow } from './focus-columns.ts';
import { focusDay } from './focus-day.ts';
import { focusLate } from './focus-late.ts';
import { statement } from './statements.ts';
import { verifyLedger } from './verify-ledger.ts';

const day = 86_400_000;
const hour = 3_600_000;
const [july, august, september, october] = ['2026-07', '2026-08', '2026-09', '2026-10'].map(monthStart) as [
  ...[number, number, number, number],
];
const provider = 'Platform team';

async function begin() {
  const sample = await sampleDatabase();
  const { queries, ids } = sample;
  let number = 0;
  const use = (startedAt: number, cost: bigint) =>
    sample.settle([sampleOutcome({ ...ids, requestId: `r${(number += 1)}`, startedAt, cost })]);
  /** What `weir ledger export --format focus` writes of a month. */
  const exported = async (month: string, now: number): Promise<readonly FocusRecord[]> => {
    const [since, until] = [monthStart(month), monthStart(nextMonth(month))];
    const rows: FocusRow[] = [];
    for (let at = since; at < until; at += day) rows.push(...(await focusDay(queries, { day: at, provider })));
    rows.push(...(await focusLate(queries, { since, until, provider }, now)));
    return rows.map((row) => Object.fromEntries(focusColumns.map((name, index) => [name, row[index] ?? null])));
  };
  const close = (month: string) =>
    statement(queries, ids.workspaceId, { month, now: monthStart(nextMonth(month)) + 6 * hour });
  return { ...sample, use, exported, close };
}

const unitsOf = (text: string | null | undefined): bigint => parseUsd(text ?? '') ?? 0n;
const sum = (rows: readonly FocusRecord[]): string =>
  formatUsd(rows.reduce((all, { BilledCost: cost }) => all + unitsOf(cost), 0n));

it('late usage is a correction in the month whose statement bills it, and each month sums to its statement', async () => {
  const { queries, ids, use, exported, close } = await begin();
  await changeWorkspace(queries, 'acme', { labels: { team: 'a' } }, sampleAuthor);
  await use(july + 5, 1_000n);
  const ofJuly = await close('2026-07');
  expect(sum(await exported('2026-07', august + 6 * hour))).toBe(ofJuly.usage);
  // Two late requests of July, one settled in August and one in September, and a late one of August.
  await use(july + day, 20n);
  await use(august + 5, 300n);
  const ofAugust = await close('2026-08');
  await use(july + 2 * day, 4n);
  await use(august + 6, 50n);
  await use(september + 5, 600_000n);
  const ofSeptember = await close('2026-09');
  const now = october + 7 * hour;
  const files = await Promise.all(['2026-07', '2026-08', '2026-09'].map((month) => exported(month, now)));
  const billed = [ofJuly, ofAugust, ofSeptember].map(({ usage, late_usage: late }) => unitsOf(usage) + unitsOf(late));
  expect(files.map(sum)).toEqual(billed.map(formatUsd));
  expect(billed).toEqual([1_000n, 320n, 600_054n]);
  for (const row of files.flat()) expect(focusFaults(row)).toEqual([]);
  const books = await verifyLedger(queries);
  expect(sum(files.flat())).toBe(formatUsd(books.workspaces.reduce((all, { costs }) => all + costs, 0n)));
  const corrections = files.map((rows) => rows.filter(({ ChargeClass: of }) => of === 'Correction'));
  expect(corrections.map((rows) => rows.length)).toEqual([0, 1, 2]);
  expect(corrections[1]).toMatchObject([
    {
      ...{ BilledCost: '0.00000000002', ChargeCategory: 'Usage', ChargeDescription: '1 late requests of 2026-07' },
      ...{ BillingPeriodStart: '2026-08-01T00:00:00Z', BillingPeriodEnd: '2026-09-01T00:00:00Z' },
      ...{ ChargePeriodStart: '2026-07-01T00:00:00Z', ChargePeriodEnd: '2026-08-01T00:00:00Z' },
      ...{ ResourceId: ids.keyId, SkuId: null, PricingQuantity: null, Tags: '{"label/team":"a"}' },
    },
  ]);
  const moved = files[0]?.filter(({ ChargeCategory: of }) => of === 'Adjustment') ?? [];
  expect(moved.map(({ BilledCost: cost, ChargeDescription: text }) => [text, cost])).toEqual([
    ['1 late requests of 2026-07, billed in 2026-08', '-0.00000000002'],
    ['1 late requests of 2026-07, billed in 2026-09', '-0.000000000004'],
  ]);
});

it('an export has these rows if it has the last day of their month, and the workspace', async () => {
  const { queries, ids, use, close } = await begin();
  await use(july + 5, 1_000n);
  await close('2026-07');
  await use(july + day, 20n);
  const now = august + 7 * hour;
  const rows = async (given: object) => (await focusLate(queries, { provider, ...given }, now)).length;
  expect(await rows({})).toBe(2);
  expect(await rows({ since: july, until: august })).toBe(1);
  expect(await rows({ since: july, until: august - day })).toBe(0);
  expect(await rows({ since: august })).toBe(1);
  expect(await rows({ workspaceId: ids.workspaceId, since: august })).toBe(1);
  expect(await rows({ workspaceId: 'ws_other' })).toBe(0);
});
