import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import type { DatabaseLocation, OpenDatabase } from '../../src/books/databases/database.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { listRequests } from '../../src/books/ledger/list-requests.ts';
import { usageReport } from '../../src/books/ledger/usage-report.ts';
import { picoUsd } from '../envoy/support/cost.ts';
import { runWeir } from '../support/run-weir.ts';

/** What tells the commands of the database. */
export interface DatabaseOfCommands {
  readonly location: DatabaseLocation;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What was settled for a workspace at one moment. */
interface Settled {
  /** Cost of each request, by its id, in 10⁻¹² USD. */
  readonly costs: ReadonlyMap<string, bigint>;
  /** Requests and cost of each model, as the rollups have them. */
  readonly rollups: Sums;
}

type Sums = ReadonlyMap<string, { readonly requests: number; readonly cost: bigint }>;

const most = 1_000_000;
const betweenMs = 2_000;

/**
 * Exports all requests that are kept again and again until it is over, and holds each export against the ledger: each request is there
 * once, and those of the workspace that were settled before the export began are all there and add up to what the rollups said then.
 * Resolves with how many were compared; the database was away for others.
 */
export async function exportBeside(
  workspace: string,
  where: DatabaseOfCommands,
  isOver: () => boolean,
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-exports-'));
  const file = join(folder, 'requests.csv');
  let compared = 0;
  try {
    while (!isOver()) {
      const settled = await settledNow(workspace, where).catch(() => undefined);
      const rows = settled && (await exported(file, where));
      if (settled !== undefined && rows !== undefined) {
        compareExport(rows, settled);
        compared += 1;
      }
      await pause(betweenMs);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return compared;
}

function compareExport(rows: readonly ExportedRow[], { costs, rollups }: Settled): void {
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  const before = rows.filter(({ id }) => costs.has(id));
  expect(before.filter(({ id, cost }) => cost !== costs.get(id))).toEqual([]);
  expect(before).toHaveLength(costs.size);
  expect(sumsOf(before)).toEqual(rollups);
}

async function exported(file: string, { flags, env }: DatabaseOfCommands): Promise<readonly ExportedRow[] | undefined> {
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

/** Rejects while the database is down, and before the workspace is there. */
async function settledNow(workspace: string, { location }: DatabaseOfCommands): Promise<Settled> {
  const database = await openDatabase(location, { missing: 'refuse', user: 'service' });
  try {
    return await readSettled(database, workspace);
  } finally {
    await database.close();
  }
}

/** Rows and rollups are read one after the other, so they are read again until nothing was settled in between. */
async function readSettled({ queries }: OpenDatabase, workspace: string): Promise<Settled> {
  const { id } = await queries
    .selectFrom('workspaces')
    .select('id')
    .where('name', '=', workspace)
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

/** Reads the columns that are compared. No cell has a quote or a line break in it. */
function readExport(file: string): readonly ExportedRow[] {
  const [header = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split('\r\n');
  const names = header.split(',');
  return lines.map((line) => {
    const cells = [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
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
