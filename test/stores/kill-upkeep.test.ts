import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { DatabaseLocation } from '../../src/books/databases/database.ts';
import { chanceFrom } from '../support/chance.ts';
import { differencesIn } from '../support/ledger-differences.ts';
import { newLocation, sampleDatabase, temporaryFolder } from '../support/sample-database.ts';
import { compileCache } from '../support/program-environment.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';
import { databaseUrl } from '../support/sample-store.ts';

const program = join(import.meta.dirname, 'support', 'keep-up-until-killed.ts');
const kills = 5;
/** One an hour: a step of upkeep proves an hour. */
const rowsInMonth = 30;
/** So many months are too old for each process. */
const monthsEach = 2;
const months = kills * monthsEach;

type Sample = Awaited<ReturnType<typeof sampleDatabase>>;

/** A process that drops what is older than a moment, and settles, until it is killed. `reached` resolves after so many steps. */
function keeper(
  { location, ids }: Sample,
  { name, now, steps }: { readonly name: string; readonly now: number; readonly steps: number },
) {
  const args = [program, databaseUrl(location), ids.workspaceId, ids.keyId, name, String(now)];
  const env = { ...process.env, ...compileCache };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = once(child, 'exit');
  const lines: string[] = [];
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  const reached = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    if (lines.length > steps) reached.resolve();
  });
  void exit.then(() => reached.resolve());
  return {
    reached: reached.promise,
    kill: async (): Promise<readonly string[]> => {
      child.kill('SIGKILL');
      await exit;
      expect(complaints).toBe('');
      return lines;
    },
  };
}

it.each([
  ['SQLite', (): DatabaseLocation => ({ kind: 'sqlite', file: join(temporaryFolder(), 'weir.db') })],
  ['PostgreSQL', newLocation],
] as const)(
  'on %s, retention that is killed at any moment drops nothing that is not counted, and counts nothing twice',
  async (_, newDatabase) => {
    const sample = await sampleDatabase('10', await newDatabase());
    const { database, queries, ids, settle } = sample;
    await settle(
      Array.from({ length: months * rowsInMonth }, (_row, index) => {
        const [month, inMonth] = [Math.floor(index / rowsInMonth), index % rowsInMonth];
        const startedAt = Date.UTC(2000, month, 2) + inMonth * 3_600_000;
        return sampleOutcome({ ...ids, requestId: `r${index}`, startedAt, cost: 5n });
      }),
    );
    const chance = chanceFrom(20_261_123);
    const rows = async (): Promise<readonly string[]> =>
      (await queries.selectFrom('requests').select('request_text').execute()).map((row) => row.request_text);
    const left: number[] = [];
    const acknowledged: string[] = [];
    for (let kill = 0; kill < kills; kill += 1) {
      const now = Date.UTC(2000, (kill + 1) * monthsEach, 3);
      // Anywhere in the upkeep of its months, and anywhere in the step that comes then.
      const process = keeper(sample, { name: `p${kill}`, now, steps: chance.below(monthsEach * rowsInMonth) });
      await process.reached;
      await sleep(chance.below(15));
      acknowledged.push(...(await process.kill()).filter((line) => line !== 'dropped'));
      expect(await differencesIn(database)).toEqual([]);
      left.push((await rows()).filter((row) => row.startsWith('r')).length);
    }
    // One more ends what was begun.
    const last = sample.database.beginUpkeep({
      ...{ retentionDays: 1, now: () => Date.UTC(2000, months, 3), report: (text) => expect(text).toBe('') },
    });
    while ((await last.steps.next()).value !== 'done');
    await last.stop();
    expect(await differencesIn(database)).toEqual([]);
    const kept = await rows();
    expect(kept.filter((row) => row.startsWith('r'))).toEqual([]);
    expect(acknowledged.filter((id) => !kept.includes(id))).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(kills);
    const counted = await queries.selectFrom('usage_days').select('requests').execute();
    expect(counted.reduce((sum, { requests }) => sum + requests, 0n)).toBe(BigInt(months * rowsInMonth + kept.length));
    // Some were killed with the work half done.
    expect(left.filter((count, kill) => count > (kills - kill - 1) * monthsEach * rowsInMonth)).not.toEqual([]);
  },
  120_000,
);
