// @suite both-databases long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { describe, expect, it, vi } from 'vitest';
import { compileCache } from '../../../test/support/program-environment.ts';
import { runCommand } from '../../../test/support/run-command.ts';
import { sampleDatabase, sampleNow, temporaryFolder } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { databaseUrl, storeAt } from '../../../test/support/sample-store.ts';
import { focusColumnFaults, focusFaults, type FocusRecord } from '../../../test/support/focus-rules.ts';
import { formatUsd, parseUsd } from '../../core/money.ts';

// Each command is a process of its own, and this machine may be busy with other tests.
vi.setConfig({ testTimeout: 60_000 });

const count = 300;

/** A service that has settled requests of three days, some with nothing in every field that may be absent; and a folder. */
async function ledgerWithRequests() {
  const { ids, location } = await sampleDatabase('9000000');
  const store = await storeAt(location);
  const settle = (index: number) => {
    const bare = { routeId: undefined, firstTokenMs: undefined, usage: { promptTokens: 1, completionTokens: 0 } };
    return store.settle(
      sampleOutcome({
        ...{ ...ids, ...(index % 3 === 0 ? bare : {}), requestId: `r${index}`, correlationId: `a "b",\r\nç ${index}` },
        ...{ cost: index === 7 ? 8_999_999_000_000_000_001n - 1_000_000_000_000n : BigInt(index) },
        startedAt: sampleNow + index * 864_000,
      }),
    );
  };
  await Promise.all(Array.from({ length: count }, (_, index) => settle(index)));
  const env = { WEIR_DATABASE_URL: databaseUrl(location) };
  const folder = temporaryFolder();
  return { folder, settle, weir: (...args: readonly string[]) => runCommand(args, { env }) };
}

type Ledger = Awaited<ReturnType<typeof ledgerWithRequests>>;

async function exported({ weir, folder }: Ledger, format: string, ...args: readonly string[]) {
  const file = join(folder, `requests.${format}`);
  const ended = await weir('ledger', 'export', '--format', format, '--out', file, '--json', ...args);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(readdirSync(folder)).toEqual([`requests.${format}`]);
  return { file, printed: JSON.parse(ended.stdout) as { readonly rows: number; readonly file: string } };
}

type Row = Readonly<Record<string, string | number | boolean | null>>;

/** The rows as `weir usage --requests --json` has them, in the order of an export. */
async function listed({ weir }: Ledger): Promise<readonly Row[]> {
  const { stdout } = await weir('usage', '--requests', '--limit', '10000', '--json');
  return (JSON.parse(stdout) as readonly Row[]).toReversed();
}

describe('weir ledger export', () => {
  it('writes as CSV what the ledger has', async () => {
    const ledger = await ledgerWithRequests();
    const { file, printed } = await exported(ledger, 'csv');
    expect(printed).toEqual({ rows: count, file });
    const text = readFileSync(file, 'utf8');
    expect(text.endsWith('\r\n')).toBe(true);
    expect(text).toContain('"a ""b"",\r\nç 7"');
    expect(text).toContain(',8999998.000000000001,');
    const rows = await listed(ledger);
    const fields = Object.keys(rows[0] ?? {});
    const cell = (value: Row[string] = null): string => {
      const plain = value === null ? '' : String(value);
      return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
    };
    const lines = rows.map((row) => fields.map((field) => cell(row[field])).join(','));
    expect(text).toBe([fields.join(','), ...lines, ''].join('\r\n'));
  });

  it('writes as Parquet what the ledger has: exact costs, moments in UTC, null where nothing was known', async () => {
    const ledger = await ledgerWithRequests();
    const { file, printed } = await exported(ledger, 'parquet');
    expect(printed).toEqual({ rows: count, file });
    const buffer = await asyncBufferFromFile(file);
    const metadata = await parquetMetadataAsync(buffer);
    const { schema } = metadata;
    const amount = schema.find(({ name }) => name === 'cost');
    expect(amount).toMatchObject({ converted_type: 'DECIMAL', type_length: 16, precision: 38, scale: 12 });
    expect(schema.find(({ name }) => name === 'started_at')).toMatchObject({ converted_type: 'TIMESTAMP_MILLIS' });
    // This reader makes floats of decimals: without the type it gives their bytes.
    delete amount?.converted_type;
    const rows = await parquetReadObjects({ file: buffer, metadata, utf8: false });
    const plain = rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => {
          if (value instanceof Uint8Array) return [name, formatUsd(BigInt(`0x${Buffer.from(value).toString('hex')}`))];
          if (value instanceof Date) return [name, value.toISOString()];
          return [name, typeof value === 'bigint' ? Number(value) : value];
        }),
      ),
    );
    expect(plain).toEqual(await listed(ledger));
  });

  it('writes one workspace and a range of days alone, and none where there is none', async () => {
    const ledger = await ledgerWithRequests();
    const days = ['--since', '2026-07-02', '--until', '2026-07-03', '--workspace', 'acme'];
    const { file, printed } = await exported(ledger, 'csv', ...days);
    expect(printed.rows).toBe(100);
    expect(readFileSync(file, 'utf8')).toContain('\r\nr100,');
    const none = join(temporaryFolder(), 'none.parquet');
    const ended = await ledger.weir(
      ...['ledger', 'export', '--format', 'parquet', '--out', none, '--since', '2030-01-01'],
    );
    expect(ended).toMatchObject({ code: 0, stdout: `${none} holds 0 requests.\n` });
    expect(await parquetReadObjects({ file: await asyncBufferFromFile(none) })).toEqual([]);
  });

  it('writes as FOCUS a row for each day, key, model and meter, whose costs are those of the ledger', async () => {
    const ledger = await ledgerWithRequests();
    const { file, printed } = await exported(ledger, 'focus', '--provider', 'Platform team');
    // No value of these rows has a comma.
    const [titles = [], ...lines] = readFileSync(file, 'utf8')
      .trim()
      .split('\r\n')
      .map((line) => line.split(','));
    const rows = lines.map((line): FocusRecord =>
      Object.fromEntries(titles.map((title, at) => [title, line[at] || null])),
    );
    expect(rows).toHaveLength(printed.rows);
    expect(focusColumnFaults(titles)).toEqual([]);
    for (const row of rows) expect(focusFaults(row)).toEqual([]);
    const billed = rows.map(({ BilledCost: cost }) => parseUsd(cost ?? '') ?? 0n);
    const books = await ledger.weir('ledger', 'verify', '--json');
    const { workspaces } = JSON.parse(books.stdout) as { readonly workspaces: readonly { readonly costs: string }[] };
    expect(formatUsd(billed.reduce((sum, cost) => sum + cost, 0n))).toBe(workspaces[0]?.costs);
    const hour = await ledger.weir(
      'ledger',
      'export',
      '--format',
      'focus',
      '--out',
      `${file}2`,
      '--since',
      '2026-07-02T01:00Z',
    );
    expect(hour.stderr).toContain('expected UTC days for --since and --until');
  });

  it('refuses bad options by name, and writes nothing then', async () => {
    const { folder, weir } = await ledgerWithRequests();
    const out = join(folder, 'out.csv');
    const refused = async (...args: readonly string[]): Promise<string> => {
      const { code, stderr } = await weir('ledger', 'export', ...args);
      expect(code).not.toBe(0);
      return stderr;
    };
    const csv = ['--format', 'csv', '--out', out];
    expect(await refused('--format', 'json', '--out', out)).toContain('Allowed choices are csv, parquet, focus');
    expect(await refused('--out', out)).toContain("'--format <format>' not specified");
    expect(await refused('--format', 'csv')).toContain("'--out <file>' not specified");
    expect(await refused(...csv, '--since', 'yesterday')).toContain('--since');
    expect(await refused(...csv, '--workspace', 'nobody')).toContain('nobody');
    expect(await refused(...csv, '--since', '2026-07-02', '--until', '2026-07-02')).toContain(
      '--since must be before --until',
    );
    const nowhere = join(folder, 'missing', 'out.csv');
    expect(await refused('--format', 'csv', '--out', nowhere)).toContain(`${nowhere} (--out) could not be written`);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('never takes the place of a file', async () => {
    const { folder, weir } = await ledgerWithRequests();
    const file = join(folder, 'taken.csv');
    writeFileSync(file, 'precious');
    expect(await weir('ledger', 'export', '--format', 'csv', '--out', file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`The file ${file} exists`) as string,
    });
    expect(readFileSync(file, 'utf8')).toBe('precious');
    expect(readdirSync(folder)).toEqual(['taken.csv']);
  });

  it('writes beside a service that settles meanwhile, each request once', async () => {
    const ledger = await ledgerWithRequests();
    let exporting = true;
    let settled = count;
    const load = (async () => {
      for (; exporting; settled += 1) await ledger.settle(settled);
    })();
    const { file, printed } = await exported(ledger, 'csv').finally(() => (exporting = false));
    await load;
    expect(printed.rows).toBeGreaterThanOrEqual(count);
    const ids = [...readFileSync(file, 'utf8').matchAll(/^(r\d+),/gm)].map(([, id]) => id);
    expect(ids).toEqual(Array.from({ length: printed.rows }, (_, index) => `r${index}`));
  });

  it('leaves nothing behind when it gets a signal to end', async () => {
    const { ids, location, settle } = await sampleDatabase();
    // Some pages, so that it is in the middle of them when it gets the signal.
    for (let page = 0; page < 8; page += 1) {
      const started = Array.from({ length: 5_000 }, (_, index) => page * 5_000 + index);
      await settle(
        started.map((ms) => sampleOutcome({ ...ids, requestId: `r${ms}`, startedAt: sampleNow + ms, cost: 1n })),
      );
    }
    const folder = temporaryFolder();
    const main = join(import.meta.dirname, '..', '..', 'main.ts');
    const args = [main, 'ledger', 'export', '--format', 'csv', '--out', join(folder, 'requests.csv')];
    const watcher = watch(folder);
    const env = { ...process.env, ...compileCache, WEIR_DATABASE_URL: databaseUrl(location) };
    const child = spawn(process.execPath, args, { env, stdio: 'ignore' });
    const ended = once(child, 'exit');
    const [, name] = await once(watcher, 'change');
    watcher.close();
    expect(name).toMatch(/^requests\.csv\.[0-9a-f]{8}\.partial$/);
    child.kill('SIGTERM');
    expect(await ended).toEqual([null, 'SIGTERM']);
    expect(readdirSync(folder)).toEqual([]);
  });
});
