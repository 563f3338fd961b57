import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Books, DayDifference, SpendingDifference, WorkspaceBooks } from '../../books/ledger/verify-ledger.ts';
import type { RowDifference } from '../../books/ledger/verify-rows.ts';
import { formatUsd } from '../../core/money.ts';
import type { TagDifference } from '../../books/ledger/verify-tags.ts';
import { accountsCommand, databaseCommand } from './accounts-command.ts';
import { exportCommand } from './ledger-export.ts';
import { textTable } from './tables.ts';

/** Adds `ledger` to the command line. */
export function ledgerCommand(program: Command): void {
  const group = program
    .command('ledger')
    .description('check the books and the file that they are in, and export requests');
  accountsCommand(
    group
      .command('verify')
      .description(
        'check an SQLite file for damage, and compare balances, budgets, rollups and kept requests; exit code 1 for damage or differences',
      ),
    'refuse',
    async (accounts) => {
      const damage = accounts.findDamage();
      // Rows of a damaged file prove nothing, and reading them may fail.
      if (damage !== undefined && damage.length > 0) {
        return {
          json: { ok: false, file: { ok: false, damage } },
          text: `The database file is damaged; restore a backup (docs/operate/backup.md):\n${damage.join('\n')}`,
          exitCode: 1,
        };
      }
      const books = await accounts.verifyLedger();
      const { workspaces, spendingDays, spendingDifferences, dayDifferences, rowDifferences, tagDifferences } = books;
      const wrong = workspaces.filter((book) => !agrees(book));
      const found = [wrong, spendingDifferences, dayDifferences, rowDifferences, tagDifferences];
      const ok = found.every(({ length }) => length === 0);
      return {
        json: {
          ok,
          file: damage === undefined ? undefined : { ok: true, damage },
          workspaces: workspaces.map(jsonOf),
          spending: { days: spendingDays, differences: spendingDifferences.map(spendingJsonOf) },
          rollups: { differences: dayDifferences.map(dayJsonOf) },
          requests: {
            kept_since: books.keptSince === 0 ? null : isoOf(books.keptSince),
            hours: books.hours,
            differences: rowDifferences.map(({ hour, measures }) => ({ hour: isoOf(hour), measures })),
          },
          tags: { differences: tagDifferences.map(tagJsonOf) },
        },
        text: [
          ...(damage === undefined ? [] : ['The database file is sound.']),
          wrong.length === 0
            ? `Balances equal credits minus costs; workspaces: ${workspaces.length}.`
            : `Balances differ from credits minus costs; workspaces: ${wrong.length} of ${workspaces.length}:\n${tableOf(wrong)}`,
          spendingDifferences.length === 0
            ? `Budget usage equals the daily totals; days of keys: ${spendingDays}.`
            : `Budget usage differs from the daily totals:\n${spendingTableOf(spendingDifferences)}`,
          dayDifferences.length === 0
            ? 'Daily totals equal the sums of hours.'
            : `Daily totals differ from the sums of hours; days of keys: ${dayDifferences.length}:\n${dayTableOf(dayDifferences)}`,
          rowDifferences.length === 0
            ? `Requests equal the hourly totals; hours: ${books.hours}.${keptText(books)}`
            : `Requests differ from the hourly totals; hours: ${rowDifferences.length}:\n${rowTableOf(rowDifferences)}`,
          ...(tagDifferences.length === 0
            ? []
            : [`Tag totals differ from their requests:\n${tagTableOf(tagDifferences)}`]),
        ].join('\n'),
        exitCode: ok ? 0 : 1,
      };
    },
  );
  exportCommand(group);
  accountsCommand(
    group
      .command('shrink')
      .description(
        'rewrite an SQLite file without its free pages, so that it shrinks automatically afterwards; about 10 s for each GB, while a running service writes to its journal',
      ),
    'refuse',
    async (accounts) => {
      const { before, after } = accounts.shrink();
      return { json: { before, after }, text: `The file has ${after} bytes; it had ${before}.` };
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

function tagJsonOf({ tag, day, counted, expected }: TagDifference) {
  return { tag, day: dayOf(day), counted: formatUsd(counted), expected: formatUsd(expected) };
}

function tagTableOf(differences: readonly TagDifference[]): string {
  return textTable(
    ['TAG', 'DAY', '#COUNTED USD', '#EXPECTED USD'],
    differences.map(({ tag, day, counted, expected }) => [tag, dayOf(day), ...[counted, expected].map(formatUsd)]),
  );
}

function dayJsonOf({ keyId, model, day, measures }: DayDifference) {
  return { key: keyId, model, day: dayOf(day), measures };
}

function dayTableOf(differences: readonly DayDifference[]): string {
  return textTable(
    ['KEY', 'MODEL', 'DAY', 'DIFFERENT'],
    differences.map(({ keyId, model, day, measures }) => [keyId, model, dayOf(day), measures.join(', ')]),
  );
}

function rowTableOf(differences: readonly RowDifference[]): string {
  return textTable(
    ['HOUR', 'DIFFERENT'],
    differences.map(({ hour, measures }) => [isoOf(hour), measures.join(', ')]),
  );
}

function keptText({ keptSince }: Pick<Books, 'keptSince'>): string {
  return keptSince === 0 ? '' : ` They are kept since ${isoOf(keptSince)}.`;
}

function isoOf(moment: number): string {
  return new Date(moment).toISOString();
}

function dayOf(moment: number): string {
  return isoOf(moment).slice(0, 10);
}

/** Adds `backup` to the command line. */
export function backupCommand(program: Command): void {
  databaseCommand(
    program
      .command('backup')
      .description('copy the SQLite database into a new file, even while a service runs')
      .argument('<file>', 'the copy; there must be no file of this name'),
    async (location, _, [operand = '']) => {
      const file = resolve(operand);
      const { backUp } = await import('../../books/store/open-accounts.ts');
      const { rows } = await backUp(location, file);
      return {
        json: { rows, file },
        text: `${file} holds the accounts and ${rows} rows of the ledger. How to restore it: docs/operate/backup.md.`,
      };
    },
  );
}
