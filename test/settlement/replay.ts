import { join } from 'node:path';
import { expect } from 'vitest';
import { creditWorkspace } from '../../src/books/accounts/credits.ts';
import { hashKey } from '../../src/books/accounts/key-text.ts';
import { createKey } from '../../src/books/accounts/keys.ts';
import { reservedFor } from '../../src/books/accounts/reservations.ts';
import { createWorkspace, findWorkspace } from '../../src/books/accounts/workspaces.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { keptSince } from '../../src/books/ledger/kept-since.ts';
import { listRequests } from '../../src/books/ledger/list-requests.ts';
import { verifyLedger } from '../../src/books/ledger/verify-ledger.ts';
import { Refusal } from '../../src/books/core/administration.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import {
  type Action,
  dailyBudget,
  dayMs,
  expire,
  firstCredit,
  firstState,
  knownFunds,
  longMs,
  mostExpired,
  type MoneyState,
  next,
  recoveryMs,
  reported,
  reserved,
  shortage,
  shortMs,
  untilReported,
} from './model.ts';
import { createTurns, deliver, kindOf, refusedFund, type RunningRequest, startService } from './service.ts';

/** Noon of a day, so that no request begins on another day than the next. */
const begin = Date.UTC(2026, 10, 25, 12);
const author = { kind: 'command-line', name: 'tester' } as const;

/** Runs actions on the product, and compares it with the model after each. */
export interface Replay {
  readonly state: () => MoneyState;
  /** Takes an action that is enabled. Throws if the product and the model differ. */
  readonly take: (action: Action) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function startReplay(folder: string): Promise<Replay> {
  const clock = createFakeClock(begin);
  const turns = createTurns();
  const operator = await openDatabase(
    { kind: 'sqlite', file: join(folder, 'weir.db') },
    { missing: 'create', user: 'operator' },
  );
  const { queries } = operator;
  const by = () => ({ actor: author, now: clock.now() });
  const { id: workspaceId } = await createWorkspace(
    queries,
    { name: 'acme', credit: BigInt(firstCredit), maxInFlight: 1_000 },
    by(),
  );
  const { text } = await createKey(
    queries,
    { workspace: 'acme', rate: 1e4, burst: 1e6, budget: { limit: BigInt(dailyBudget), period: 'day' } },
    by(),
  );
  const keyHash = hashKey(text);
  let state = firstState(begin);
  let service = await startService(folder, { clock, turns });
  let running: RunningRequest[] = [];
  // While the database is down, a service serves only the keys that it has seen.
  await service.store.findCredential(keyHash);

  /** Lets time pass, up to one report of reservations after the other, because each is dated when it is written. */
  async function pass(ms: number): Promise<void> {
    const until = clock.elapsed() + ms;
    while (clock.elapsed() < until) {
      const untilReport = longMs - ((clock.elapsed() - service.begun) % longMs);
      clock.advance(Math.min(until - clock.elapsed(), untilReport));
      await turns.quiet();
    }
  }

  async function restart(): Promise<void> {
    if (service.isAlive()) service.kill();
    await turns.quiet();
    running = [];
    service = await startService(folder, { clock, turns });
    await turns.quiet();
  }

  async function end({ at, ending, loss }: Extract<Action, { readonly kind: 'end' }>): Promise<void> {
    const [request] = running.splice(at % running.length, 1);
    if (request === undefined) return;
    const before = { told: state.told.length };
    if (loss === 'in-doubt') service.setDisk('commit-in-doubt');
    if (loss === 'dies-after') service.dieAt('after-commit');
    const { attempts, settlement, admitted } = request;
    let result: { readonly cost: bigint } | { readonly error: unknown } | undefined;
    settlement.settle(kindOf[ending], { attempts, routes: 1, heard: ending !== 'unheard' }).then(
      ({ cost }) => (result = { cost }),
      (error: unknown) => (result = { error }),
    );
    if (loss === 'dies-before') {
      await restart();
      return pass(shortMs);
    }
    await new Promise((resolve) => setImmediate(resolve));
    // A row that follows another one at once waits two milliseconds for its commit.
    clock.advance(2);
    await turns.quiet();
    if (loss === 'dies-after') await restart();
    else {
      const told = next(state, { kind: 'end', at, ending, loss }).told.at(before.told);
      expect(result, 'what the caller is told').toEqual(
        told === undefined ? { error: expect.anything() } : { cost: BigInt(told.cost) },
      );
      await admitted.release();
    }
    await pass(shortMs - 2);
  }

  async function credit(amount: number): Promise<void> {
    const isAllowed = next(state, { kind: 'credit', amount }).credits !== state.credits;
    const credited = creditWorkspace(queries, 'acme', { amount: BigInt(amount), note: 'a reason' }, by());
    if (isAllowed) await credited;
    else await expect(credited).rejects.toBeInstanceOf(Refusal);
  }

  async function act(action: Action): Promise<void> {
    switch (action.kind) {
      case 'credit':
        await credit(action.amount);
        return pass(longMs);
      case 'begin': {
        const short = shortage(state);
        const begun = service.begin({ id: `r${state.begun}`, cap: action.cap, keyHash });
        const fund = await begun.then((request) => void running.push(request), refusedFund);
        expect(fund, 'the fund that refuses').toBe(short);
        return pass(shortMs);
      }
      case 'attempt': {
        const request = running[action.at % running.length];
        if (request !== undefined) request.attempts += 1;
        return pass(shortMs);
      }
      case 'deliver': {
        const request = running[action.at % running.length];
        if (request !== undefined) deliver(request, action.tokens);
        return pass(shortMs);
      }
      case 'end':
        return end(action);
      case 'database-down':
        service.setDisk('away');
        await expect(service.store.findCredential('0'.repeat(64))).rejects.toThrow(/./);
        return pass(shortMs);
      case 'database-up':
        await pass(untilReported(state));
        if (action.dies) service.dieAt('before-the-journal-is-removed');
        service.setDisk('fine');
        await pass(recoveryMs);
        expect(service.isAlive()).toBe(!action.dies);
        if (action.dies) await restart();
        return pass(longMs);
      case 'crash':
        await restart();
        return pass(shortMs);
      case 'wait':
        return pass(60_000 + shortMs);
      case 'next-day':
        clock.jump(dayMs);
        return;
      case 'upkeep': {
        const rounds = service.upkeepRounds();
        await pass(60_000 + shortMs);
        for (let turn = 0; turn < 50 && service.upkeepRounds() === rounds; turn += 1) {
          clock.advance(0);
          await turns.quiet();
        }
      }
    }
  }

  /** Compares everything that the product shows with the model. */
  async function compare(action: Action): Promise<void> {
    const kept = await keptSince(queries);
    // Upkeep may run whenever nothing else does, so the model follows the product there, within its limits.
    expect(kept).toBeGreaterThanOrEqual(state.keptSince);
    expect(kept).toBeLessThanOrEqual(mostExpired(state));
    if (action.kind === 'upkeep') expect(kept).toBe(mostExpired(state));
    state = expire(state, kept);
    const { balance } = await findWorkspace(queries, 'acme');
    const credential = await service.store.findCredential(keyHash);
    const rows = await listRequests(queries, {}, 1_000);
    const { workspaces, ...differences } = await verifyLedger(queries);
    const funds = knownFunds(state);
    expect({
      balance,
      rows: rows.map(({ requestId, cost }) => `${requestId} ${cost}`).toSorted(),
      costs: workspaces[0]?.costs,
      books: workspaces.map((books) => books.balance - books.expected),
      differences: [
        differences.spendingDifferences,
        differences.dayDifferences,
        differences.rowDifferences,
        differences.tagDifferences,
      ].flat(),
      reserved: service.limits.reserved().get(workspaceId) ?? 0n,
      reported: await reservedFor(queries, workspaceId, clock.now()),
      known: [credential?.workspace.balance, credential?.spent],
      isJournalEmpty: service.store.status().journalBytes === 0,
      database: service.store.status().database,
    }).toEqual({
      balance: BigInt(state.balance),
      rows: state.ledger.map(({ id, cost }) => `r${id} ${cost}`).toSorted(),
      costs: BigInt(state.rollup),
      books: [0n],
      differences: [],
      reserved: BigInt(reserved(state)),
      reported: BigInt(reported(state)),
      known: [BigInt(funds.balance), BigInt(funds.spent)],
      isJournalEmpty: state.journal.length === 0,
      database: state.database,
    });
  }

  return {
    state: () => state,
    take: async (action) => {
      await act(action);
      state = next(state, action);
      await compare(action);
    },
    close: async () => {
      service.setDisk('fine');
      if (service.isAlive()) service.kill();
      await turns.quiet();
      await operator.close();
    },
  };
}
