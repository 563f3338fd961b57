import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Books, WorkspaceBooks } from '../../books/ledger/verify-ledger.ts';
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
      const checks = checksOf(books);
      const ok = checks.every(({ rows }) => rows.length === 0);
      return {
        json: {
          ok,
          file: damage === undefined ? undefined : { ok: true, damage },
          workspaces: workspaces.map(jsonOf),
          spending: {
            days: spendingDays,
            differences: spendingDifferences.map(({ keyId, ...rest }) => ({ key: keyId, ...amountsOf(rest) })),
          },
          rollups: {
            differences: dayDifferences.map(({ keyId, model, day, measures }) => ({
              ...{ key: keyId, model, day: dayOf(day), measures },
            })),
          },
          requests: {
            kept_since: books.keptSince === 0 ? null : isoOf(books.keptSince),
            hours: books.hours,
            differences: rowDifferences.map(({ hour, measures }) => ({ hour: isoOf(hour), measures })),
          },
          tags: { differences: tagDifferences.map(({ tag, ...rest }) => ({ tag, ...amountsOf(rest) })) },
        },
        text: [...(damage === undefined ? [] : ['The database file is sound.']), ...checks.flatMap(linesOf)].join('\n'),
        exitCode: ok ? 0 : 1,
      };
    },
  );
  exportCommand(group);
  accountsCommand(
    group
      .command('shrink')
      .description(
        'rewrite an SQLite file without its free pages, and let it shrink automatically afterwards; about 10 s for each GB, during which a running service writes to its journal',
      ),
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

function amountsOf({ day, counted, expected }: Omit<TagDifference, 'tag'>) {
  return { day: dayOf(day), counted: formatUsd(counted), expected: formatUsd(expected) };
}

/** One comparison of the books: its sentence without differences, if there is one, and their table. */
interface Check {
  readonly good?: string;
  readonly bad: string;
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

function checksOf(books: Books): readonly Check[] {
  const { workspaces, spendingDays, spendingDifferences, dayDifferences, rowDifferences, tagDifferences } = books;
  const wrong = workspaces.filter((book) => !agrees(book));
  return [
    {
      good: `Balances equal credits minus costs; workspaces: ${workspaces.length}.`,
      bad: `Balances differ from credits minus costs; workspaces: ${wrong.length} of ${workspaces.length}:`,
      titles: ['NAME', 'ID', '#CREDITS USD', '#COSTS USD', '#BALANCE USD', '#EXPECTED USD'],
      rows: wrong.map(({ name, id, credits, costs, balance, expected }) => [
        ...[name, id, ...[credits, costs, balance, expected].map(formatUsd)],
      ]),
    },
    {
      good: `Budget usage equals the daily totals; days of keys: ${spendingDays}.`,
      bad: 'Budget usage differs from the daily totals:',
      titles: ['KEY', 'DAY', '#COUNTED USD', '#EXPECTED USD'],
      rows: spendingDifferences.map(({ keyId, ...rest }) => [keyId, ...Object.values(amountsOf(rest))]),
    },
    {
      good: 'Daily totals equal the sums of hours.',
      bad: `Daily totals differ from the sums of hours; days of keys: ${dayDifferences.length}:`,
      titles: ['KEY', 'MODEL', 'DAY', 'DIFFERENT'],
      rows: dayDifferences.map(({ keyId, model, day, measures }) => [keyId, model, dayOf(day), measures.join(', ')]),
    },
    {
      good: `Requests equal the hourly totals; hours: ${books.hours}.${keptText(books)}`,
      bad: `Requests differ from the hourly totals; hours: ${rowDifferences.length}:`,
      titles: ['HOUR', 'DIFFERENT'],
      rows: rowDifferences.map(({ hour, measures }) => [isoOf(hour), measures.join(', ')]),
    },
    {
      bad: 'Tag totals differ from their requests:',
      titles: ['TAG', 'DAY', '#COUNTED USD', '#EXPECTED USD'],
      rows: tagDifferences.map(({ tag, ...rest }) => [tag, ...Object.values(amountsOf(rest))]),
    },
  ];
}

function linesOf({ good, bad, titles, rows }: Check): readonly string[] {
  if (rows.length > 0) return [bad, textTable(titles, rows)];
  return good === undefined ? [] : [good];
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
