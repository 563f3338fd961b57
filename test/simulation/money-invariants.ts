import type { BudgetPeriod } from '../../src/core/account.ts';
import type { Money } from '../../src/core/money.ts';
import type { SettledRequest } from '../../src/core/settled-request.ts';
import { periodStart } from '../../src/books/core/budget-period.ts';
import { tagBudgets, tagsOf, togetherWith } from './accounts.ts';
import type { Call } from './caller.ts';
import { pastFunds } from './check-budget.ts';
import { healedMs, stopDelayMs } from './check-stopped.ts';
import { believed } from './key-states.ts';
import type { Violate } from './invariants.ts';
import { maxJumpMs } from './operator.ts';
import type { World } from './world-view.ts';

/** What may be spent: of a balance, a budget, or the budget of a tag. */
interface Fund {
  readonly name: string;
  readonly period: BudgetPeriod;
  readonly isOf: (row: SettledRequest) => boolean;
  /** Whether requests of this call are paid from it. */
  readonly pays: (call: Call) => boolean;
  /** The most, or the least, that there was in all by a moment of the world. */
  readonly most: (atMs: number) => Money;
  readonly least: (atMs: number) => Money;
}

export interface MoneyInvariants {
  /** `rows`: all rows that the ledger ever had. */
  readonly checkMoney: (rows: readonly SettledRequest[]) => void;
}

/** Whether funds that are spent serve nothing more, and whether those that are not refuse nothing. */
export function createMoneyInvariants(world: World, violate: Violate): MoneyInvariants {
  const { plan, calls, keys, workspaceIds } = world;
  const { keyPlans } = world.promised;
  const hasJump = plan.events.some(({ kind }) => kind === 'clock-jump');
  const knownAfterMs = stopDelayMs + (hasJump ? maxJumpMs : 0);
  const funds = fundsOf(world);
  const checked = new Set<Call>();
  const wallAt = (atMs: number): number => plan.startsAt + atMs;
  const isCalm = (from: number, until: number): boolean =>
    world.spells.every(([begin, end]) => end < from || begin > until);
  let byNumber = new Map<number, Call>();
  function callOf(row: Pick<SettledRequest, 'correlationId'>): Call | undefined {
    if (byNumber.size !== calls.length) byNumber = new Map(calls.map((call) => [call.event.id, call]));
    return byNumber.get(Number(row.correlationId.slice(1)));
  }

  /** Without a fault, a fund that is spent serves no request that comes later. */
  function checkServed(rows: readonly SettledRequest[]): void {
    for (const { name, period, isOf, most } of funds) {
      const limitAt = (at: number): Money => most(at - plan.startsAt);
      for (const row of pastFunds(rows.filter(isOf), { limitAt, period, knownAfterMs })) {
        const call = callOf(row);
        if (call === undefined || !isCalm(call.startedAt - healedMs, call.startedAt)) continue;
        violate('budget', `served when the ${name} is spent`, call.event.id);
        return;
      }
    }
  }

  /** A request that comes when no other one runs is never refused as long as something is left. */
  function checkRefused(rows: readonly SettledRequest[]): void {
    for (const call of calls) {
      if (call.status() !== 402 || call.end() === 'open' || checked.has(call)) continue;
      checked.add(call);
      const [from, until] = [call.startedAt - knownAfterMs, call.endedAt()];
      const workspace = keyPlans[call.event.key]?.workspace;
      const isAlone = calls.every(
        (other) =>
          other === call ||
          keyPlans[other.event.key]?.workspace !== workspace ||
          other.startedAt > until ||
          (other.end() !== 'open' && other.endedAt() < from),
      );
      const isNew = keyPlans[call.event.key]?.budget === undefined;
      const isChanged = isNew && world.budgetChanges.some(({ of }) => of === `key ${call.event.key}`);
      if (!isAlone || hasJump || isChanged || !isCalm(call.startedAt - healedMs, until)) continue;
      const isSpent = funds
        .filter(({ pays }) => pays(call))
        .some(({ period, isOf, least }) => {
          const since = periodStart(period, wallAt(from));
          const spent = rows.filter((row) => isOf(row) && row.startedAt >= since && row.startedAt <= wallAt(until));
          return spent.reduce((sum, { cost }) => sum + cost, 0n) >= least(call.startedAt);
        });
      if (!isSpent) violate('refusal', `402 although something is left: ${call.body().slice(0, 200)}`, call.event.id);
    }
  }

  return {
    checkMoney: (rows) => {
      if (keys.length === 0 || workspaceIds.length === 0) return;
      checkServed(rows);
      checkRefused(rows);
    },
  };
}

function fundsOf({
  plan,
  keys,
  workspaceIds,
  balanceChanges,
  budgetChanges,
  spells,
  promised,
}: World): readonly Fund[] {
  const { keyPlans, workspaces } = promised;
  const hasJump = plan.events.some(({ kind }) => kind === 'clock-jump');
  const skewMs = hasJump ? maxJumpMs : 0;
  const balances = workspaces.map(({ credit }, workspace): Fund => {
    const changes = () => balanceChanges.filter((change) => change.workspace === workspace);
    const sum = (isCounted: (change: (typeof balanceChanges)[number]) => boolean): Money =>
      changes().reduce<Money>((total, change) => (isCounted(change) ? total + change.amount : total), credit);
    return {
      name: `balance of workspace ${workspace}`,
      period: 'total',
      isOf: ({ workspaceId }) => workspaceId === workspaceIds[workspace],
      pays: ({ event }) => keyPlans[event.key]?.workspace === workspace,
      most: (atMs) =>
        sum(({ amount, fromMs, doneMs }) => (amount > 0n ? fromMs <= atMs + maxJumpMs : doneMs < atMs - maxJumpMs)),
      least: (atMs) =>
        sum(({ amount, fromMs, doneMs }) => (amount > 0n ? doneMs < atMs - stopDelayMs : fromMs <= atMs + maxJumpMs)),
    };
  });
  const budgets = keyPlans.flatMap(({ budget }, key): readonly Fund[] => {
    if (budget === undefined) return [];
    const known = { first: budget.limit, changes: budgetChanges, spells };
    const [first] = togetherWith(key);
    const limitsAt = (atMs: number): readonly Money[] => [
      ...believed(`key ${first}`, known, { startedAt: atMs - skewMs, endedAt: atMs + skewMs }),
    ];
    const rotation = plan.events.find((event) => event.kind === 'rotate' && event.key === key);
    // What a key has spent counts against the budget of the one that replaces it, and not the other way round.
    const isOf = ({ keyId, startedAt }: SettledRequest): boolean => {
      const { id, later } = keys[key] ?? {};
      if (later === undefined || rotation === undefined) return keyId === id;
      return keyId === later.id || (keyId === id && startedAt <= plan.startsAt + rotation.at);
    };
    return [
      {
        name: `budget of key ${key}`,
        period: budget.period,
        isOf,
        pays: ({ event }) => event.key === key,
        most: (atMs) => limitsAt(atMs).reduce((one, other) => (one > other ? one : other)),
        least: (atMs) => limitsAt(atMs).reduce((one, other) => (one < other ? one : other)),
      },
    ];
  });
  const ofTags = tagBudgets.map(({ tag, workspace, budget }): Fund => ({
    name: `budget of the tag ${tag}`,
    period: budget.period,
    isOf: ({ workspaceId, tags }) => workspaceId === workspaceIds[workspace] && tags?.split(',').includes(tag) === true,
    pays: ({ event }) =>
      keyPlans[event.key]?.workspace === workspace && tagsOf(event.id)?.split(',').includes(tag) === true,
    ...{ most: () => budget.limit, least: () => budget.limit },
  }));
  return [...balances, ...budgets, ...ofTags];
}
