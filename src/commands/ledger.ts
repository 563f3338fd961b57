import type { Command } from 'commander';
import type { WorkspaceBooks } from '../adapters/store/verify-ledger.ts';
import { formatUsd } from '../core/money.ts';
import { accountsCommand } from './accounts-command.ts';
import { textTable } from './text-table.ts';

/** Adds `ledger` to the command line. */
export function ledgerCommand(program: Command): void {
  const group = program.command('ledger').description('check the books');
  accountsCommand(
    group
      .command('verify')
      .description('recompute every balance as credits less costs; exit code 1 when one does not agree'),
    'refuse',
    async (accounts) => {
      const books = await accounts.verifyLedger();
      const wrong = books.filter((book) => !agrees(book));
      return {
        json: { ok: wrong.length === 0, workspaces: books.map(jsonOf) },
        text:
          wrong.length === 0
            ? `The balances of ${books.length} workspaces agree with the ledger.`
            : `The balances of ${wrong.length} of ${books.length} workspaces do not agree with the ledger:\n${tableOf(wrong)}`,
        exitCode: wrong.length === 0 ? 0 : 1,
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
