// @suite both-databases
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { differencesIn } from '../../../test/support/ledger-differences.ts';
import { databaseKind, sampleAuthor, sampleDatabase } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Outcome } from '../../core/account.ts';
import { keptSince } from '../ledger/kept-since.ts';
import { verifyLedger } from '../ledger/verify-ledger.ts';
import { creditWorkspace } from '../accounts/credits.ts';

const day = 86_400_000;

type Step =
  | { readonly kind: 'settle'; readonly requests: readonly Request[] }
  | { readonly kind: 'credit'; readonly amount: bigint }
  /** So many steps of upkeep; then its process dies. */
  | { readonly kind: 'keep-up'; readonly steps: number; readonly retentionDays: number }
  | { readonly kind: 'pass'; readonly days: number };

interface Request {
  readonly id: number;
  readonly cost: bigint;
  readonly hour: number;
}

const request = fc.record({ id: fc.nat(40), cost: fc.bigInt(0n, 400n), hour: fc.nat(23) });
const requests = fc.array(request, { minLength: 1, maxLength: 6 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('settle' as const), requests }),
  fc.record({ kind: fc.constant('credit' as const), amount: fc.bigInt(-900n, 900n) }),
  fc.record({
    kind: fc.constant('keep-up' as const),
    steps: fc.nat(40),
    retentionDays: fc.integer({ min: 1, max: 20 }),
  }),
  fc.record({ kind: fc.constant('pass' as const), days: fc.nat(70) }),
);

/** So early that all days which pass in a test are over: what settles compares starts with the clock of the machine. */
const longAgo = Date.UTC(2016, 6, 1);

/** So that some requests are dropped in any case. */
const aMonthGoes: readonly Step[] = [
  { kind: 'settle', requests: [{ id: 1, cost: 3n, hour: 0 }] },
  { kind: 'pass', days: 70 },
  { kind: 'keep-up', steps: 40, retentionDays: 1 },
  { kind: 'settle', requests: [{ id: 1, cost: 3n, hour: 0 }] },
];

it('any sequence of settlements, corrections, upkeep and crashes leaves books that agree, and charges no request twice', async () => {
  let dropped = 0;
  // A busy machine takes fewer sequences, and reports a counterexample before it has found the shortest one.
  const until = performance.now() + 60_000;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 25 }), async (sequence: readonly Step[]) => {
      if (performance.now() > until) return;
      const { database, queries, ids, settle } = await sampleDatabase();
      let now = longAgo;
      let balance = 10_000_000_000_000n;
      // A request has one start and one cost, however often it comes.
      const known = new Map<string, Outcome>();
      const settled = new Set<string>();
      const outcomeOf = ({ id, cost, hour }: Request): Outcome => {
        const requestId = `r${id}`;
        const outcome =
          known.get(requestId) ?? sampleOutcome({ ...ids, requestId, cost, startedAt: now + hour * 3_600_000 });
        known.set(requestId, outcome);
        return outcome;
      };
      const charge = (outcome: Outcome): void => {
        if (!settled.has(outcome.requestId)) balance -= outcome.cost;
        settled.add(outcome.requestId);
      };
      for (const each of sequence) {
        switch (each.kind) {
          case 'settle':
            for (const outcome of each.requests.map(outcomeOf)) {
              if (outcome.startedAt < (await keptSince(queries)))
                await expect(settle([outcome])).rejects.toThrow('older than');
              else {
                await settle([outcome, outcome]);
                charge(outcome);
              }
            }
            break;
          case 'credit': {
            if (each.amount === 0n) break;
            const credit = { amount: each.amount, note: 'a reason' };
            await creditWorkspace(queries, 'acme', credit, sampleAuthor);
            balance += each.amount;
            break;
          }
          case 'keep-up': {
            const reports: string[] = [];
            const report = (message: string): void => void reports.push(message);
            const upkeep = database.beginUpkeep({ retentionDays: each.retentionDays, now: () => now, report });
            for (let taken = 0; taken < each.steps; taken += 1) await upkeep.steps.next();
            await upkeep.stop();
            expect(reports).toEqual([]);
            break;
          }
          case 'pass':
            now += each.days * day;
        }
        expect(await differencesIn(database)).toEqual([]);
      }
      expect((await verifyLedger(queries)).workspaces).toMatchObject([{ balance }]);
      if ((await keptSince(queries)) > 0) dropped += 1;
      await database.close();
    }),
    { numRuns: databaseKind === 'sqlite' ? 60 : 10, examples: [[aMonthGoes]] },
  );
  expect(dropped).toBeGreaterThan(0);
}, 120_000);
