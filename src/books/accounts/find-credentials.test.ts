// @suite both-databases
import { describe, expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { BudgetPeriod } from '../../core/account.ts';
import { findCredential, findCredentials } from './find-credentials.ts';
import { hashKey, newKey } from './key-text.ts';
import { changeKey } from './change-keys.ts';

it('a credential is found by the hash of the text of its key, with who pays', async () => {
  const { queries, workspace, key, text } = await sampleDatabase();
  const hash = hashKey(text);
  const found = await findCredentials(queries, [hash, hashKey('sk-weir-other')], sampleNow);
  const credential = found.get(hash);
  expect(credential?.workspace).toEqual(workspace);
  expect(credential?.key).toEqual({ id: key.id, workspaceId: workspace.id, status: 'active', rate: 100, burst: 200 });
  expect(credential?.spent).toBe(0n);
  expect([...found.keys()]).toEqual([hash]);
});

it('a credential is found by the text of its key; a text that no key can have is not looked up', async () => {
  const { queries, key, text } = await sampleDatabase();
  expect(await findCredential(queries, text, sampleNow)).toMatchObject({ key: { id: key.id } });
  expect(await findCredential(queries, newKey(), sampleNow)).toBeUndefined();
  await queries
    .updateTable('keys')
    .set({ hash: hashKey('mistyped') })
    .execute();
  expect(await findCredential(queries, 'mistyped', sampleNow)).toBeUndefined();
});

const day = 86_400_000;
/** A Wednesday in the middle of a month. */
const now = Date.UTC(2026, 6, 15, 12);
/** Days before `now`, and a cost each that tells which of them are in a sum. */
const spentOn = [
  [0, 1n],
  [1, 10n],
  [2, 100n],
  [3, 1_000n],
  [14, 10_000n],
  [15, 100_000n],
  [400, 1_000_000n],
] as const;

async function spender() {
  const { queries, ids, key, text, settle } = await sampleDatabase();
  const rows = spentOn.map(([days, cost]) =>
    sampleOutcome({ ...ids, requestId: `r${days}`, startedAt: now - days * day, cost }),
  );
  await settle(rows);
  const spent = async (at = now) => {
    const found = await findCredentials(queries, [hashKey(text)], at);
    return found.get(hashKey(text))?.spent;
  };
  const budget = (period: BudgetPeriod, limit = 5n) =>
    changeKey(queries, key.id, { budget: { limit, period } }, sampleAuthor);
  return { queries, ids, key, spent, budget, settle };
}

describe('what was spent with a key', () => {
  it.each([
    ['day', 1, 1n],
    ['week', 6, 111n],
    ['month', 40, 11_111n],
  ] as const)(
    'in its %s has nothing of %i days later, which a clock that was ahead counted',
    async (period, days, sum) => {
      const { spent, budget, settle, ids } = await spender();
      await budget(period);
      await settle([sampleOutcome({ ...ids, requestId: 'ahead', startedAt: now + days * day, cost: 7n })]);
      expect(await spent()).toBe(sum);
      // Twin: it counts when its day has come.
      expect(await spent(now + days * day)).toBeGreaterThanOrEqual(7n);
      await budget('total');
      expect(await spent()).toBe(1_111_118n);
    },
  );

  it.each([
    ['day', 1n],
    ['week', 111n],
    ['month', 11_111n],
    ['total', 1_111_111n],
  ] as const)('in its %s is what its requests of it cost, those before the budget was set too', async (period, sum) => {
    const { spent, budget } = await spender();
    await budget(period);
    expect(await spent()).toBe(sum);
  });

  it('stays when the budget is raised, and when it is cleared and set again', async () => {
    const { queries, key, spent, budget } = await spender();
    await budget('week');
    await budget('week', 1_000n);
    expect(await spent()).toBe(111n);
    await changeKey(queries, key.id, { budget: undefined }, sampleAuthor);
    expect(await spent()).toBe(0n);
    await budget('week');
    expect(await spent()).toBe(111n);
  });

  it('begins anew with the period, at midnight UTC, and never for a total', async () => {
    const { spent, budget } = await spender();
    const after: Readonly<Record<BudgetPeriod, number>> = {
      day: Date.UTC(2026, 6, 16),
      week: Date.UTC(2026, 6, 20),
      month: Date.UTC(2026, 7, 1),
      total: Date.UTC(2126, 0, 1),
    };
    for (const [period, before, then] of [
      ['day', 1n, 0n],
      ['week', 111n, 0n],
      ['month', 11_111n, 0n],
      ['total', 1_111_111n, 1_111_111n],
    ] as const) {
      await budget(period);
      expect([period, await spent(after[period] - 1), await spent(after[period])]).toEqual([period, before, then]);
    }
  });

  it('counts a request on the day on which it started, once', async () => {
    const { ids, spent, budget, settle } = await spender();
    await budget('day');
    const late = sampleOutcome({ ...ids, requestId: 'late', startedAt: Date.UTC(2026, 6, 15) - 1, cost: 1_000n });
    await settle([late, late]);
    expect(await spent()).toBe(1n);
    expect(await spent(now - day)).toBe(10n + 1_000n);
  });
});
