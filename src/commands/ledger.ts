import type { Command } from 'commander';
import type { SpendingDifference, WorkspaceBooks } from '../adapters/store/verify-ledger.ts';
import { formatUsd } from '../core/money.ts';
import { accountsCommand } from './accounts-command.ts';
import { textTable } from './text-table.ts';

/** Adds `ledger` to the command line. */
export function ledgerCommand(program: Command): void {
  const group = program.command('ledger').description('check the books');
  accountsCommand(
    group
      .command('verify')
      .description(
        'recompute every balance as credits less costs, and what counts against budgets; exit code 1 when one does not agree',
      ),
    'refuse',
    async (accounts) => {
      const { workspaces, spendingDays, spendingDifferences } = await accounts.verifyLedger();
      const wrong = workspaces.filter((book) => !agrees(book));
      const ok = wrong.length === 0 && spendingDifferences.length === 0;
      return {
        json: {
          ok,
          workspaces: workspaces.map(jsonOf),
          spending: { days: spendingDays, differences: spendingDifferences.map(spendingJsonOf) },
        },
        text: [
          wrong.length === 0
            ? `The balances of ${workspaces.length} workspaces agree with the ledger.`
            : `The balances of ${wrong.length} of ${workspaces.length} workspaces do not agree with the ledger:\n${tableOf(wrong)}`,
          spendingDifferences.length === 0
            ? `What ${spendingDays} days of keys count against budgets agrees with the ledger.`
            : `What counts against budgets does not agree with the ledger:\n${spendingTableOf(spendingDifferences)}`,
        ].join('\n'),
        exitCode: ok ? 0 : 1,
      };
    },
  );
}

function agrees({ balance, expected }: WorkspaceBooks): boolean {
  return balance === expected;
}

function jsonOf(book: WorkspaceBooks) {
  const { id, name, requests, credits, costs, balance, expected } = book;
  return {
    id,
    name,
    ok: agrees(book),
    requests,
    credits: formatUsd(credits),
    costs: formatUsd(costs),
    balance: formatUsd(balance),
    expected: formatUsd(expected),
  };
}

function tableOf(books: readonly WorkspaceBooks[]): string {
  return textTable(
    ['NAME', 'ID', '#CREDITS USD', '#COSTS USD', '#BALANCE USD', '#EXPECTED USD'],
    books.map(({ name, id, credits, costs, balance, expected }) => [
      name,
      id,
      ...[credits, costs, balance, expected].map(formatUsd),
    ]),
  );
}

function spendingJsonOf({ keyId, day, counted, expected }: SpendingDifference) {
  return { key: keyId, day: dayOf(day), counted: formatUsd(counted), expected: formatUsd(expected) };
}

function spendingTableOf(differences: readonly SpendingDifference[]): string {
  return textTable(
    ['KEY', 'DAY', '#COUNTED USD', '#EXPECTED USD'],
    differences.map(({ keyId, day, counted, expected }) => [keyId, dayOf(day), ...[counted, expected].map(formatUsd)]),
  );
}

function dayOf(moment: number): string {
  return new Date(moment).toISOString().slice(0, 10);
}
