import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { databaseLocation } from '../../../../src/books/databases/database-location.ts';
import { listRequests } from '../../../../src/books/ledger/list-requests.ts';
import type { OpenDatabase } from '../../../../src/books/databases/database.ts';
import { openDatabase } from '../../../../src/books/databases/open-database.ts';
import { usageReport } from '../../../../src/books/ledger/usage-report.ts';
import { runWeir } from '../../../support/run-weir.ts';
import { picoUsd } from '../cost.ts';

/** What tells the commands of the database. */
export interface StormDatabase {
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What was settled for the workspace of a storm at one moment. */
interface Settled {
  /** Cost of each request, by its id, in 10⁻¹² USD. */
  readonly costs: ReadonlyMap<string, bigint>;
  /** Requests and cost of each model, as the rollups have them. */
  readonly rollups: Sums;
}

type Sums = ReadonlyMap<string, { readonly requests: number; readonly cost: bigint }>;

/** Exports of the ledger that are taken beside a storm. */
export interface StormExports {
  /**
   * Exports all requests that are kept, and holds them against the ledger: each is there once, and those that were settled before the
   * export began are all there and add up to what the rollups said then. Returns false, and holds nothing against anything, when
   * the database was away.
   */
  readonly take: () => Promise<boolean>;
  readonly close: () => void;
}

const most = 1_000_000;

/** Exports of the workspace `storm`. */
export function openStormExports({ flags, env }: StormDatabase): StormExports {
  const folder = mkdtempSync(join(tmpdir(), 'weir-exports-'));
  let count = 0;

  async function exported(): Promise<readonly ExportedRow[] | undefined> {
    const file = join(folder, `${(count += 1)}.csv`);
    const args = ['ledger', 'export', '--format', 'csv', '--out', file, '--json', ...flags];
    const { code, stdout } = await runWeir(args, { env });
    if (code !== 0) {
      // Nobody takes a part for the whole.
      expect(existsSync(file)).toBe(false);
      return undefined;
    }
    const rows = readExport(file);
    rmSync(file);
    expect(rows).toHaveLength((JSON.parse(stdout) as { readonly rows: number }).rows);
    return rows;
  }

  return {
    take: async () => {
      const settled = await settledNow({ flags, env }).catch(() => undefined);
      const rows = settled && (await exported());
      if (settled === undefined || rows === undefined) return false;
      expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
      const before = rows.filter(({ id }) => settled.costs.has(id));
      expect(before.filter(({ id, cost }) => cost !== settled.costs.get(id))).toEqual([]);
      expect(before).toHaveLength(settled.costs.size);
      expect(sumsOf(before)).toEqual(settled.rollups);
      return true;
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Rejects while the database is down. */
async function settledNow({ flags, env }: StormDatabase): Promise<Settled> {
  const location = databaseLocation({ data: flags[1], url: env['WEIR_DATABASE_URL'] });
  const database = await openDatabase(location, { missing: 'refuse', user: 'service' });
  try {
    return await readSettled(database);
  } finally {
    await database.close();
  }
}

/** Rows and rollups are read one after the other, so they are read again until nothing was settled in between. */
async function readSettled({ queries }: OpenDatabase): Promise<Settled> {
  const { id } = await queries
    .selectFrom('workspaces')
    .select('id')
    .where('name', '=', 'storm')
    .executeTakeFirstOrThrow();
  for (;;) {
    const lines = await usageReport(queries, { workspaceId: id }, ['model']);
    const requests = await listRequests(queries, { workspaceId: id }, most);
    if (lines.reduce((sum, line) => sum + line.requests, 0) !== requests.length) continue;
    return {
      costs: new Map(requests.map((request) => [request.requestId, request.cost])),
      rollups: new Map(lines.map((line) => [line.model ?? '', { requests: line.requests, cost: line.cost }])),
    };
  }
}

interface ExportedRow {
  readonly id: string;
  readonly model: string;
  readonly cost: bigint;
}

/** Reads the columns that are compared. No field of a storm has a comma, a quote or a line break in it. */
function readExport(file: string): readonly ExportedRow[] {
  const [header = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split('\r\n');
  const names = header.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    expect(cells).toHaveLength(names.length);
    const cell = (name: string): string => cells[names.indexOf(name)] ?? '';
    return { id: cell('id'), model: cell('model'), cost: picoUsd(cell('cost')) };
  });
}

function sumsOf(rows: readonly ExportedRow[]): Sums {
  const sums = new Map<string, { readonly requests: number; readonly cost: bigint }>();
  for (const { model, cost } of rows) {
    const sum = sums.get(model) ?? { requests: 0, cost: 0n };
    sums.set(model, { requests: sum.requests + 1, cost: sum.cost + cost });
  }
  return sums;
}
