import { randomBytes } from 'node:crypto';
import { appendFileSync, closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
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
import { csvLines } from './tables.ts';
import { endingSignals } from '../../process/stop-signals.ts';

type Format = keyof typeof exportWriters;
const formats = ['csv', 'parquet', 'focus'] as const satisfies readonly (Format | 'focus')[];

interface ExportOptions {
  readonly since?: number;
  readonly until?: number;
  readonly workspace?: string;
  readonly format: (typeof formats)[number];
  readonly provider: string;
  readonly out: string;
}

/** Adds `export` to the commands of the ledger. */
export function exportCommand(group: Command): void {
  const command = group
    .command('export')
    .description(
      'write the kept requests into a new file, oldest first, or the daily cost as FOCUS 1.2, even while a service runs',
    )
    .option('--since <when>', 'only requests started at or after this UTC day or moment', momentOption)
    .option('--until <when>', 'only requests started before this UTC day or moment', momentOption)
    .option('--workspace <workspace>', 'only this workspace, by name or id')
    .addOption(
      new Option('--format <format>', 'output format; focus: one CSV row for each day, key, model and meter')
        .choices(formats)
        .makeOptionMandatory(),
    )
    .option('--provider <name>', 'with --format focus: provider name', 'Weir')
    .requiredOption('--out <file>', 'the output file, which must not exist');
  accountsCommand<ExportOptions>(command, async (accounts, options) => {
    const { since, until, workspace, format, provider } = options;
    if (since !== undefined && until !== undefined && since >= until) throw refusal('times_reversed');
    const workspaceId = workspace === undefined ? undefined : (await accounts.findWorkspace(workspace)).id;
    const filter = { workspaceId, since, until };
    const file = resolve(options.out);
    if (format === 'focus') {
      if ((since ?? 0) % dayMs !== 0 || (until ?? 0) % dayMs !== 0) throw refusal('focus_not_whole_days');
      const rows = await writeExport(file, (partial) => writeFocus(accounts, filter, { file, partial, provider }));
      return { json: { rows, file }, text: `${file} holds ${rows} rows of FOCUS 1.2.` };
    }
    const keptSince = await accounts.keptSince();
    const rows = await writeExport(file, (partial) => writeRequests(accounts, filter, { file, partial, format }));
    const dropped =
      keptSince > (since ?? 0)
        ? ` Requests before ${new Date(keptSince).toISOString()} were dropped earlier (WEIR_LEDGER_RETENTION_DAYS).`
        : '';
    return { json: { rows, file }, text: `${file} holds ${rows} requests.${dropped}` };
  });
}

/** Writes a new file, and returns the number of its rows. The file gets its name when it is complete. */
async function writeExport(file: string, fill: (partial: string) => Promise<number>): Promise<number> {
  refuseTaken(file);
  const partial = `${file}.${randomBytes(4).toString('hex')}.partial`;
  const remove = (): void => rmSync(partial, { force: true });
  const removeAndEnd = (signal: NodeJS.Signals): void => {
    remove();
    // The listener is removed, so the signal now ends the process.
    process.kill(process.pid, signal);
  };
  for (const signal of endingSignals) process.once(signal, removeAndEnd);
  try {
    onDisk(file, () => closeSync(openSync(partial, 'wx')));
    const rows = await fill(partial);
    onDisk(file, () => {
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

interface Target {
  /** As the operator named it. */
  readonly file: string;
  /** The empty file that is written. */
  readonly partial: string;
}

async function writeRequests(
  accounts: Accounts,
  filter: LedgerFilter,
  { file, partial, format }: Target & { readonly format: Format },
): Promise<number> {
  const names = await accounts.workspaceNames();
  const { exportWriters } = await import('./export-writers.ts');
  const writer = onDisk(file, (): ExportWriter => exportWriters[format](partial));
  let rows = 0;
  for await (const outcomes of accounts.exportRequests(filter)) {
    const requests = outcomes.map((outcome) => ({ outcome, workspace: names(outcome.workspaceId) }));
    onDisk(file, () => writer.write(requests));
    rows += requests.length;
    // Reading SQLite never yields to the event loop, so signals would not be handled without this turn.
    await nextTurn();
  }
  onDisk(file, () => writer.end());
  return rows;
}

async function writeFocus(
  accounts: Accounts,
  filter: LedgerFilter,
  { file, partial, provider }: Target & { readonly provider: string },
): Promise<number> {
  const { focusColumns } = await import('../../books/ledger/focus-columns.ts');
  onDisk(file, () => appendFileSync(partial, csvLines([focusColumns])));
  let rows = 0;
  for (const { day = '' } of await accounts.usageReport(filter, ['day'])) {
    const charges = await accounts.focusDay({ day: Date.parse(day), workspaceId: filter.workspaceId, provider });
    onDisk(file, () => appendFileSync(partial, csvLines(charges)));
    rows += charges.length;
    await nextTurn();
  }
  const late = await accounts.focusLate({ ...filter, provider }, Date.now());
  onDisk(file, () => appendFileSync(partial, csvLines(late)));
  return rows + late.length;
}

const dayMs = 86_400_000;

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
