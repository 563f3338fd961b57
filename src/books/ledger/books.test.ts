// @suite both-databases
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { Refusal } from '../core/operator-refusals.ts';
import { databaseKind, sampleAuthor, sampleDatabase } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { parseUsd } from '../../core/money.ts';
import { listAudit } from '../accounts/audit.ts';
import { verifyLedger } from './verify-ledger.ts';
import { creditWorkspace } from '../accounts/credits.ts';
import { findWorkspace } from '../accounts/workspaces.ts';

vi.setConfig({ testTimeout: 120_000 });

/** What happens to an account: amounts in 10⁻¹² USD. */
type Step =
  | {
      readonly kind: 'settle';
      /** A request that was settled before costs nothing again. */ readonly costs: readonly Request[];
    }
  /** The last row of the batch is refused, or the process ends before the commit: all of it is settled once more later. */
  | { readonly kind: 'crash'; readonly costs: readonly Request[] }
  | { readonly kind: 'credit'; readonly amount: bigint };

interface Request {
  readonly id: number;
  readonly cost: bigint;
}

const requests = fc.array(fc.record({ id: fc.nat(30), cost: fc.bigInt(0n, 400n) }), { minLength: 1, maxLength: 6 });
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('settle' as const), costs: requests }),
    fc.record({ kind: fc.constant('crash' as const), costs: requests }),
    fc.record({ kind: fc.constant('credit' as const), amount: fc.bigInt(-900n, 900n) }),
  ),
  { minLength: 1, maxLength: 25 },
);

it('any sequence of settlements, crashes, credits and corrections leaves books that agree, and a trail that adds up', async () => {
  let corrected = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const { queries, ids, settle } = await sampleDatabase('0.0000000005');
      const settled = new Set<number>();
      let expected = 500n;
      const rows = (costs: readonly Request[]) =>
        costs.map(({ id, cost }) => sampleOutcome({ ...ids, requestId: `r${id}`, cost }));
      for (const step of sequence) {
        switch (step.kind) {
          case 'crash':
            // One row of an account that does not exist keeps all of them from being committed.
            await expect(
              settle([
                ...rows(step.costs),
                sampleOutcome({ requestId: 'bad', workspaceId: 'ws_none', keyId: 'key_none' }),
              ]),
            ).rejects.toThrow(/./);
            break;
          case 'settle':
            await settle(rows(step.costs));
            for (const { id, cost } of step.costs) {
              if (!settled.has(id)) expected -= cost;
              settled.add(id);
            }
            break;
          case 'credit': {
            const allowed = step.amount > 0n || (step.amount < 0n && expected + step.amount >= 0n);
            const credit = creditWorkspace(queries, 'acme', { amount: step.amount, note: 'a reason' }, sampleAuthor);
            if (allowed) {
              await credit;
              expected += step.amount;
              if (step.amount < 0n) corrected += 1;
            } else {
              await expect(credit).rejects.toBeInstanceOf(Refusal);
              refused += 1;
            }
          }
        }
        expect((await findWorkspace(queries, 'acme')).balance).toBe(expected);
      }
      const { workspaces, spendingDifferences } = await verifyLedger(queries);
      expect(workspaces).toMatchObject([{ balance: expected, expected }]);
      expect(spendingDifferences).toEqual([]);
      for (const { action, before, after } of await listAudit(queries, {}, 1_000)) {
        if (action !== 'workspace.credit') continue;
        const [was, is, credit] = [before?.['balance'], after['balance'], after['credit']].map((text) =>
          parseUsd(String(text)),
        );
        expect((was ?? 0n) + (credit ?? 0n)).toBe(is);
      }
    }),
    { numRuns: databaseKind === 'sqlite' ? 40 : 20 },
  );
  expect(corrected).toBeGreaterThan(0);
  expect(refused).toBeGreaterThan(0);
});
