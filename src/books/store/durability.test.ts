// @suite both-databases
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, vi } from 'vitest';
import { sampleDatabase, temporaryFolder } from '../../../test/support/sample-database.ts';
import { databaseUrl, storeAt } from '../../../test/support/sample-store.ts';
import { verifyLedger } from '../ledger/verify-ledger.ts';

const program = join(import.meta.dirname, '../../../test/support/settle-until-killed.ts');

/** Settles in a process of its own until `count` rows were acknowledged, then kills it without warning. Resolves to all that were. */
async function acknowledgedBeforeKill(args: readonly string[], count: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const acknowledged: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== 'open') acknowledged.push(line);
    if (acknowledged.length === count) child.kill('SIGKILL');
  }
  expect(await exit).toEqual([null, 'SIGKILL']);
  return acknowledged;
}

// Threads and processes of their own, on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 60_000 });

it('loses no acknowledged row when it is killed, and takes no money for a row that is not there', async () => {
  const { location, queries, ids } = await sampleDatabase();
  const journal = join(temporaryFolder(), 'journal');
  const url = databaseUrl(location);
  for (const [name, count] of [
    ['first', 150],
    ['second', 401],
  ] as const) {
    const acknowledged = await acknowledgedBeforeKill([url, journal, ids.workspaceId, ids.keyId, name], count);
    expect(acknowledged.length).toBeGreaterThanOrEqual(count);

    const restarted = await storeAt(location, { journal });
    await restarted.close();
    const rows = await queries.selectFrom('requests').select('request_text').execute();
    const written = new Set(rows.map((row) => row.request_text));
    expect(acknowledged.filter((id) => !written.has(id))).toEqual([]);
    const {
      workspaces: [books],
      spendingDifferences,
    } = await verifyLedger(queries);
    expect(spendingDifferences).toEqual([]);
    expect(books?.balance).toBe(books?.expected);
    expect(books?.costs).toBe(3n * BigInt(rows.length));
  }
});
