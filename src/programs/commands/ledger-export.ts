import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { refusal } from '../../books/core/operator-refusals.ts';
import { messageOf } from '../../core/failure.ts';
import type { Accounts } from '../../books/store/open-accounts.ts';
import type { LedgerFilter } from '../../books/core/administration.ts';
import { accountsCommand } from './accounts-command.ts';
import type { exportWriters, ExportWriter } from './export-writers.ts';
import { momentOption } from './option-values.ts';
import { endingSignals } from '../../process/stop-signals.ts';

type Format = keyof typeof exportWriters;
const formats = ['csv', 'parquet'] as const satisfies readonly Format[];

interface ExportOptions {
  readonly since?: number;
  readonly until?: number;
  readonly workspace?: string;
  readonly format: Format;
  readonly out: string;
}

/** Adds `export` to the commands of the ledger. */
export function exportCommand(group: Command): void {
  const command = group
    .command('export')
    .description('write the requests that are kept into a new file, oldest first, beside a running service too')
    .option('--since <when>', 'only requests started at or after this UTC day or moment', momentOption)
    .option('--until <when>', 'only requests started before this UTC day or moment', momentOption)
    .option('--workspace <workspace>', 'only this workspace, by name or id')
    .addOption(new Option('--format <format>', 'what is written').choices(formats).makeOptionMandatory())
    .requiredOption('--out <file>', 'the file; there must be none of this name');
  accountsCommand<ExportOptions>(command, 'refuse', async (accounts, options) => {
    const { since, until, workspace, format } = options;
    if (since !== undefined && until !== undefined && since >= until) throw refusal('times_reversed');
    const workspaceId = workspace === undefined ? undefined : (await accounts.findWorkspace(workspace)).id;
    const keptSince = await accounts.keptSince();
    const file = resolve(options.out);
    const rows = await writeExport(accounts, { workspaceId, since, until }, { file, format });
    const dropped =
      keptSince > (since ?? 0)
        ? ` Requests before ${new Date(keptSince).toISOString()} were dropped earlier (WEIR_LEDGER_RETENTION_DAYS).`
        : '';
    return { json: { rows, file }, text: `${file} holds ${rows} requests.${dropped}` };
  });
}

/** Writes the requests of a filter into a new file, and returns their number. The file gets its name when it is complete. */
async function writeExport(
  accounts: Accounts,
  filter: LedgerFilter,
  { file, format }: { readonly file: string; readonly format: Format },
): Promise<number> {
  refuseTaken(file);
  const names = await accounts.workspaceNames();
  const { exportWriters } = await import('./export-writers.ts');
  const partial = `${file}.${randomBytes(4).toString('hex')}.partial`;
  const remove = (): void => rmSync(partial, { force: true });
  const removeAndEnd = (signal: NodeJS.Signals): void => {
    remove();
    // The listener is removed, so the signal now ends the process.
    process.kill(process.pid, signal);
  };
  for (const signal of endingSignals) process.once(signal, removeAndEnd);
  try {
    const writer = onDisk(file, (): ExportWriter => {
      closeSync(openSync(partial, 'wx'));
      return exportWriters[format](partial);
    });
    let rows = 0;
    for await (const outcomes of accounts.exportRequests(filter)) {
      const requests = outcomes.map((outcome) => ({ outcome, workspace: names(outcome.workspaceId) }));
      onDisk(file, () => writer.write(requests));
      rows += requests.length;
      // Reading SQLite never yields to the event loop, so signals would not be handled without this turn.
      await nextTurn();
    }
    onDisk(file, () => {
      writer.end();
      syncPath(partial);
      refuseTaken(file);
      renameSync(partial, file);
      syncPath(dirname(file));
    });
    return rows;
  } finally {
    for (const signal of endingSignals) process.off(signal, removeAndEnd);
    remove();
  }
}

function refuseTaken(file: string): void {
  if (existsSync(file)) throw refusal('file_exists', { file, what: 'an export', option: ' (--out)' });
}

function onDisk<Result>(file: string, act: () => Result): Result {
  try {
    return act();
  } catch (cause) {
    throw refusal('file_not_written', { file, reason: messageOf(cause) }, { cause });
  }
}

function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
