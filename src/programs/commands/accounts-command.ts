import type { Command } from 'commander';
import type { Accounts } from '../../books/store/open-accounts.ts';
import type { Authorship } from '../../books/core/administration.ts';
import { userName } from '../../process/user-name.ts';
import type { DatabaseLocation } from '../../books/databases/database.ts';
import { databaseLocation } from '../../books/databases/database-location.ts';
import { print } from '../command-line/print.ts';
import type { TableWidth } from './tables.ts';

/** The result of a command, in one form for scripts and one for readers, and its exit code. */
export interface Answer {
  readonly json: unknown;
  /** A function: a table, by the width that is wanted. */
  readonly text: string | ((width: TableWidth) => string);
  /** For a spreadsheet, if the command has `--csv`. */
  readonly csv?: string;
  readonly exitCode?: number;
}

interface CommonOptions {
  readonly data?: string;
  readonly json?: true;
  readonly csv?: true;
  readonly output?: 'wide';
}

/**
 * Gives a command the options that all commands on the accounts share, and its action: it opens the accounts, runs the
 * operation, closes the accounts and prints the answer. Only `create` makes a missing SQLite file.
 */
export function accountsCommand<Options extends object>(
  command: Command,
  act: (accounts: Accounts, options: Options, operands: readonly string[]) => Promise<Answer>,
  missing: 'create' | 'refuse' = 'refuse',
): void {
  databaseCommand<Options>(command, (location, options, operands) =>
    withAccounts(location, (accounts) => act(accounts, options, operands), missing),
  );
}

/** Opens the accounts while `use` runs. The store is loaded when it is needed, so that `--help` answers at once. */
export async function withAccounts<Result>(
  location: DatabaseLocation,
  use: (accounts: Accounts) => Promise<Result>,
  missing: 'create' | 'refuse' = 'refuse',
): Promise<Result> {
  const { openAccounts } = await import('../../books/store/open-accounts.ts');
  const accounts = await openAccounts(location, { missing, user: 'operator' });
  try {
    return await use(accounts);
  } finally {
    await accounts.close();
  }
}

/** Like `accountsCommand`, for a command that does not open the accounts. It gets their location. */
export function databaseCommand<Options extends object>(
  command: Command,
  act: (location: DatabaseLocation, options: Options, operands: readonly string[]) => Promise<Answer>,
): void {
  command
    .option('--data <dir>', 'folder of the SQLite database (default: the database of WEIR_DATABASE_URL, else .weir)')
    .option('--json', 'print JSON, including errors')
    .addOption(
      command.createOption('-o, --output <form>', 'wide: all columns, even beyond 80 characters').choices(['wide']),
    )
    .action(async () => {
      const options = command.opts<CommonOptions & Options>();
      const location = databaseLocation({ data: options.data, url: process.env['WEIR_DATABASE_URL'] });
      const answer = await act(location, options, command.args);
      print(`${shown(answer, options)}\n`);
      if (answer.exitCode !== undefined) process.exitCode = answer.exitCode;
    });
}

/** The author of a change that a command makes: the user of the operating system who runs the command, now. */
export function byOperator(): Authorship {
  return { actor: { kind: 'command-line', name: userName() }, now: Date.now() };
}

function shown({ json, csv, text }: Answer, options: CommonOptions): string {
  if (options.json) return JSON.stringify(json);
  if (options.csv && csv !== undefined) return csv;
  return typeof text === 'string' ? text : text(options.output ?? 'fit');
}
