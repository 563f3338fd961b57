import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { SpendingDifference, WorkspaceBooks } from '../../store/verify-ledger.ts';
import { formatUsd } from '../../core/money.ts';
import { accountsCommand, byOperator, databaseCommand } from './accounts-command.ts';
import { textTable } from './tables.ts';

/** Adds `ledger` to the command line. */
export function ledgerCommand(program: Command): void {
  const group = program.command('ledger').description('check the books, and the file that they are in');
  accountsCommand(
    group
      .command('verify')
      .description(
        'check an SQLite file for damage, recompute every balance as credits less costs, and what counts against budgets; exit code 1 when something is damaged or does not agree',
      ),
    'refuse',
    async (accounts) => {
      const damage = accounts.findDamage();
      // Rows of a damaged file prove nothing, and reading them may fail.
      if (damage !== undefined && damage.length > 0) {
        return {
          json: { ok: false, file: { ok: false, damage } },
          text: `The database file is damaged; restore a backup (docs/accounts.md, "Backup and restore"):\n${damage.join('\n')}`,
          exitCode: 1,
        };
      }
      const { workspaces, spendingDays, spendingDifferences } = await accounts.verifyLedger();
      const wrong = workspaces.filter((book) => !agrees(book));
      const ok = wrong.length === 0 && spendingDifferences.length === 0;
      return {
        json: {
          ok,
          file: damage === undefined ? undefined : { ok: true, damage },
          workspaces: workspaces.map(jsonOf),
          spending: { days: spendingDays, differences: spendingDifferences.map(spendingJsonOf) },
        },
        text: [
          ...(damage === undefined ? [] : ['The database file is sound.']),
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
  databaseCommand(
    group
      .command('accept-loss')
      .description(
        'let an SQLite ledger be used again that lost commits: sets aside, never deletes, the files that tell of it',
      ),
    async (location) => {
      const { acceptLossOf } = await import('../../store/accounts.ts');
      const accepted = await acceptLossOf(location, byOperator());
      if (accepted === undefined)
        return { json: { lost: false, set_aside: [] }, text: 'No commit is known to be lost.' };
      const { loss, setAside } = accepted;
      return {
        json: { lost: true, what: loss.what, set_aside: setAside },
        text: [`Accepted: ${loss.what}.`, 'Set aside:', ...setAside].join('\n'),
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

/** Adds `backup` to the command line. */
export function backupCommand(program: Command): void {
  databaseCommand(
    program
      .command('backup')
      .description('copy the SQLite database as it is now into a new file, beside a running service too')
      .argument('<file>', 'the copy; there must be no file of this name'),
    async (location, _, [operand = '']) => {
      const file = resolve(operand);
      const { backUp } = await import('../../store/accounts.ts');
      const { rows } = await backUp(location, file);
      return {
        json: { rows, file },
        text: `${file} holds the accounts and ${rows} rows of the ledger. How to restore it: docs/accounts.md, "Backup and restore".`,
      };
    },
  );
}
