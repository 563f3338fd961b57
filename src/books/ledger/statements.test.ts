// @suite both-databases long
import { expect, it, vi } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { drain, sampleOutbox } from '../../../test/support/sample-outbox.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Outcome } from '../../core/account.ts';
import { formatUsd, parseUsd } from '../../core/money.ts';
import { addCredit } from '../accounts/credits.ts';
import { changeKey } from '../accounts/change-keys.ts';
import { createIdentity } from '../accounts/identities.ts';
import { openIdentityAccount } from '../accounts/identity-accounts.ts';
import { accountsOfIdentity, createKey } from '../accounts/keys.ts';
import { createWorkspace, findWorkspace } from '../accounts/workspaces.ts';
import { type MonthStatement, statementGroups, statementRows } from '../core/statement.ts';
import type { OpenDatabase } from '../databases/database.ts';
import { replayEvents } from '../outbox/subscriptions.ts';
import { keptSince } from './kept-since.ts';
import { settleBatch } from './settle-batch.ts';
import { closeMonths, statement } from './statements.ts';
import { verifyLedger } from './verify-ledger.ts';

vi.setConfig({ testTimeout: 120_000 });

const hour = 3_600_000;
const day = 24 * hour;
const units = (usd: string): bigint => parseUsd(usd) ?? 0n;
const sum = (amounts: readonly string[]): bigint => amounts.reduce((all, amount) => all + units(amount), 0n);
const monthAt = (at: number): string => new Date(at).toISOString().slice(0, 7);
const startOf = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);

/** Whether a statement adds up to the last unit. */
function expectSums(made: MonthStatement): void {
  const { opening_balance: opening, credits, corrections, usage, late_usage: late, closing_balance: closing } = made;
  const difference = units(credits) + units(corrections) - units(usage) - units(late);
  expect(units(opening) + difference).toBe(units(closing));
  expect(sum(made.entries.map(({ amount }) => amount))).toBe(units(credits) + units(corrections));
  expect(sum(made.late.map(({ cost }) => cost))).toBe(units(late));
  for (const by of statementGroups) {
    const lines = made.lines.filter((line) => line.by === by);
    for (const of of Map.groupBy(lines, ({ tag }) => tag).values()) {
      expect(sum(of.map(({ cost }) => cost))).toBe(units(usage));
      expect(sum(of.map(({ cost_before: before }) => before))).toBeLessThanOrEqual(units(made.usage_before));
    }
  }
  const [titles = [], ...rows] = statementRows(made);
  expect(new Set(rows.map(({ length }) => length))).toEqual(new Set([titles.length]));
  const amounts = rows.flatMap((row) => row[titles.indexOf('amount')] ?? []).map(String);
  expect(sum(amounts.slice(0, -1))).toBe(units(amounts.at(-1) ?? ''));
}

async function keepUp(database: OpenDatabase, now: number): Promise<void> {
  const upkeep = database.beginUpkeep({ retentionDays: 35, now: () => now, report: (text) => expect.fail(text) });
  try {
    while ((await upkeep.steps.next()).value !== 'done');
  } finally {
    await upkeep.stop();
  }
}

it('the statements of a year are the balance at every midnight, through retention and late requests, and what verify sums', async () => {
  const { database, queries, ids } = await sampleDatabase('0.000000000001');
  const second = (await createKey(queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor)).key;
  const neighbour = await createWorkspace(queries, { name: 'neighbour', credit: 7n, maxInFlight: 1 }, sampleAuthor);
  const foreign = (await createKey(queries, { workspace: 'neighbour', rate: 1, burst: 1 }, sampleAuthor)).key;
  let number = 0;
  const request = (startedAt: number, changes: Partial<Outcome> = {}): Outcome =>
    sampleOutcome({
      ...{ ...ids, requestId: `r${(number += 1)}`, startedAt, cost: BigInt((number * 7_919) % 1_000_003) },
      ...(number % 3 === 0 ? { keyId: second.id, modelId: 'a/b', tags: 'app=x,team=search' } : {}),
      ...(number % 5 === 0 ? { tags: 'team=ads' } : {}),
      ...changes,
    });
  const balanceAt = async (now: number) => {
    const made = await statement(queries, ids.workspaceId, { month: monthAt(now - 1), now });
    expectSums(made);
    expect([new Date(now).toISOString(), made.closing_balance]).toEqual([
      new Date(now).toISOString(),
      formatUsd((await findWorkspace(queries, 'acme')).balance),
    ]);
  };
  const closed = new Map<string, string>();
  const late: bigint[] = [];
  const end = sampleNow + 365 * day;
  for (let midnight = sampleNow; midnight < end; midnight += day) {
    const now = midnight + day;
    const others = { workspaceId: neighbour.id, keyId: foreign.id };
    await settleBatch(
      database,
      [request(midnight), request(midnight + 13 * hour), request(now - 1), request(midnight, others)],
      now,
    );
    if (midnight % (5 * day) === 0)
      await addCredit(queries, 'acme', { amount: 30_000_001n, note: undefined }, { ...sampleAuthor, now: now - hour });
    if (midnight % (11 * day) === 0)
      await addCredit(queries, 'acme', { amount: -17n, note: 'too much' }, { ...sampleAuthor, now: midnight });
    const before = monthAt(midnight - 2 * day);
    if (new Date(midnight).getUTCDate() === 2 && before >= '2026-07') {
      // The month before is closed by now. A request of its last second is settled after that, and one of the month before it.
      const kept = await statement(queries, ids.workspaceId, { month: before, now });
      expect(kept.state).toBe('closed');
      closed.set(before, JSON.stringify(kept));
      const rows = [request(startOf(monthAt(midnight)) - 1)];
      if (before > '2026-07') rows.push(request(startOf(before) - 1));
      await settleBatch(database, rows, now);
      late.push(rows.reduce((all, { cost }) => all + cost, 0n));
      await keepUp(database, now);
    }
    await balanceAt(now);
  }
  expect(await keptSince(queries)).toBeGreaterThan(sampleNow + 270 * day);

  const now = end + 7 * hour;
  const months = Array.from({ length: 12 }, (_, at) => monthAt(Date.UTC(2026, 6 + at, 15)));
  const statements: MonthStatement[] = [];
  for (const month of months) statements.push(await statement(queries, ids.workspaceId, { month, now }));
  expect(statements.map(({ state }) => state)).toEqual(months.map(() => 'closed'));
  for (const [at, made] of statements.entries()) {
    expectSums(made);
    expect(made.opening_balance).toBe(statements[at - 1]?.closing_balance ?? '0');
    expect(made.usage_before).toBe(statements[at - 1]?.usage ?? '0');
    expect(made.late_usage).toBe(formatUsd(at === 0 ? 0n : (late[at - 1] ?? 0n)));
    expect(made.late.map(({ month }) => month)).toEqual(
      [months[at - 2], months[at - 1]].filter((month) => month !== undefined),
    );
    if (closed.has(made.month)) expect(JSON.stringify(made)).toBe(closed.get(made.month));
  }

  const books = (await verifyLedger(queries)).workspaces.find(({ id }) => id === ids.workspaceId);
  const of = (read: (made: MonthStatement) => readonly string[]) => sum(statements.flatMap(read));
  expect(of(({ credits, corrections }) => [credits, corrections])).toBe(books?.credits);
  expect(of(({ usage, late_usage: some }) => [usage, some])).toBe(books?.costs);
  expect(units(statements.at(-1)?.closing_balance ?? '')).toBe(books?.balance);
  expect(books?.balance).toBe(books?.expected);
  expect(statements.at(-1)?.totals).toEqual({
    requests: books?.requests,
    credits: formatUsd(books?.credits ?? 0n),
    costs: formatUsd(books?.costs ?? 0n),
  });
});

it('a closed month keeps names and labels, and what is booked late is an entry of the next', async () => {
  const { database, queries, ids } = await sampleDatabase('10');
  const settle = (changes: Partial<Outcome>) =>
    settleBatch(database, [sampleOutcome({ ...ids, ...changes })], sampleNow);
  await settle({ requestId: 'first', cost: 3_000_000n, tags: 'team=search' });
  const rules = { name: 'jobs', issuer: 'cluster', audience: 'weir', match: ['true'], workspace: { name: 'acme' } };
  const limits = { each: 'subject', tags: {}, isBound: false, rate: 1, burst: 1 } as const;
  const identity = await createIdentity(queries, { ...rules, ...limits }, sampleAuthor);
  const wanted = { identityId: identity.id, workspace: 'acme', subject: 'cron' };
  await openIdentityAccount(queries, wanted, sampleAuthor);
  const [account] = await accountsOfIdentity(queries, identity.id, 1);
  await settle({ requestId: 'second', keyId: account?.id ?? '', cost: 1_000_000n, startedAt: sampleNow + day });
  const august = startOf('2026-08');
  const of = (month: string, now: number) => statement(queries, ids.workspaceId, { month, now });
  const open = await of('2026-07', august + 6 * hour - 1);
  expect(open.state).toBe('open');
  expect(open.lines.map(({ by, tag, id, requests, cost, share }) => [by, tag, id, requests, cost, share])).toEqual([
    ['key', null, ids.keyId, 1, '0.000003', 75],
    ['key', null, account?.id, 1, '0.000001', 25],
    ['identity', null, null, 1, '0.000003', 75],
    ['identity', null, identity.id, 1, '0.000001', 25],
    ['model', null, 'qwen/qwen3-8b', 2, '0.000004', 100],
    ['tag', 'team', 'search', 1, '0.000003', 75],
    ['tag', 'team', null, 1, '0.000001', 25],
  ]);
  const kept = await of('2026-07', august + 6 * hour);
  expect(kept).toEqual({ ...open, state: 'closed' });
  await changeKey(queries, ids.keyId, { name: 'renamed' }, sampleAuthor);
  await addCredit(queries, 'acme', { amount: 5n, note: 'slow clock' }, { ...sampleAuthor, now: august - 1 });
  await settle({ requestId: 'late', cost: 0n, startedAt: august - 1 });
  expect(await of('2026-07', august + day)).toEqual(kept);
  const next = await of('2026-08', august + day);
  expectSums(next);
  expect(next.entries).toEqual([
    { id: null, at: '2026-08-01T00:00:00.000Z', amount: '0.000000000005', note: 'of closed months' },
  ]);
  expect(next.late).toEqual([{ month: '2026-07', key: ids.keyId, key_name: 'renamed', requests: 1, cost: '0' }]);
  expect(next.lines.find(({ by }) => by === 'key')).toMatchObject({ requests: 0, cost: '0', cost_before: '0.000003' });
});

it('processes that close a month together keep one statement', async () => {
  const { queries, ids } = await sampleDatabase('10');
  const now = startOf('2026-11');
  const made = await Promise.all(
    Array.from({ length: 5 }, (_, at) =>
      statement(queries, ids.workspaceId, { month: at < 3 ? '2026-09' : '2026-10', now }),
    ),
  );
  expect(made.map(({ month }) => month)).toEqual(['2026-09', '2026-09', '2026-09', '2026-10', '2026-10']);
  expect(await queries.selectFrom('statements').select('month').orderBy('month').execute()).toEqual(
    ['2026-07', '2026-08', '2026-09'].map((month) => ({ month })),
  );
});

it('months close for every workspace, each with one event, also sent again by a replay', async () => {
  const { queries, ids } = await sampleOutbox(['statement']);
  await createWorkspace(
    queries,
    { name: 'later', credit: 0n, maxInFlight: 1 },
    { ...sampleAuthor, now: startOf('2026-09') },
  );
  const now = startOf('2026-10') + 6 * hour;
  await closeMonths(queries, now - 1);
  const places = async () =>
    (await drain(queries, now)).map(({ type, id, data }) => `${type} ${id} ${String(data['month'])}`);
  const eventOf = (month: string, id = ids.workspaceId) =>
    `dev.weir.statement.closed statement_${month}_${id} ${month}`;
  expect(await places()).toEqual([eventOf('2026-07'), eventOf('2026-08')]);
  await Promise.all([closeMonths(queries, now), closeMonths(queries, now)]);
  const { id } = await findWorkspace(queries, 'later');
  const september = [eventOf('2026-09'), eventOf('2026-09', id)].toSorted();
  expect((await places()).toSorted()).toEqual(september);
  await closeMonths(queries, now + day);
  expect(await places()).toEqual([]);
  await replayEvents(queries, { since: startOf('2026-10'), until: now + 1, kinds: ['statement'] }, now);
  expect((await places()).toSorted()).toEqual(september);
});

it('no month before the workspace or in the future has a statement, and no kept one can be changed', async () => {
  const { queries, ids } = await sampleDatabase('10');
  const of = (month: string) => statement(queries, ids.workspaceId, { month, now: startOf('2026-09') });
  await expect(of('2026-06')).rejects.toThrow('The workspace has no statement for 2026-06: its first is 2026-07.');
  await expect(of('2026-10')).rejects.toThrow('The month 2026-10 has not begun: now is 2026-09 in UTC.');
  await of('2026-09');
  const never = 'statements of closed months are never changed or removed';
  await expect(
    queries
      .updateTable('statements')
      .set({ document: '{}' } as never)
      .execute(),
  ).rejects.toThrow(never);
  await expect(queries.deleteFrom('statements').execute()).rejects.toThrow(never);
});
