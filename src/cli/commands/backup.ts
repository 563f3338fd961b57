import { resolve } from 'node:path';
import type { Command } from 'commander';
import { databaseCommand } from './accounts-command.ts';

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
