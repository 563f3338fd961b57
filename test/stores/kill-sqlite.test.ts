// @suite long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { chanceFrom } from '../support/chance.ts';
import { temporaryFolder } from '../support/sample-database.ts';

const program = join(import.meta.dirname, 'support', 'open-and-close-until-killed.ts');

/** Opens, writes and closes ledgers below a folder until it is killed; gives what it was told is durable. */
function restless(root: string, name: string) {
  const child = spawn(process.execPath, [program, root, name], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = once(child, 'exit');
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  const lines: string[] = [];
  const first = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    first.resolve();
  });
  void exit.then(() => first.resolve());
  return {
    first: first.promise,
    kill: async () => {
      child.kill('SIGKILL');
      await exit;
      return { complaints, lines };
    },
  };
}

async function rowsOf(folder: string): Promise<ReadonlySet<string>> {
  const database = await openDatabase(
    { kind: 'sqlite', file: join(folder, 'weir.db') },
    { missing: 'create', user: 'service' },
  );
  try {
    const rows = await database.queries.selectFrom('requests').select('request_text').execute();
    return new Set(rows.map((row) => row.request_text));
  } finally {
    await database.close();
  }
}

it('a process that is killed at any moment leaves a ledger that opens with what was told to be durable', async () => {
  const root = temporaryFolder();
  const chance = chanceFrom(20_261_122);
  let acknowledged = 0;
  let closed = 0;
  for (let kill = 0; kill < 25; kill += 1) {
    // One, or two at once that share files.
    const processes = Array.from({ length: 1 + (kill % 2) }, (_, index) => restless(root, `p${kill}-${index}`));
    await processes[0]?.first;
    // The moment of death is what the test is about: anywhere in two or three openings and closings.
    await sleep(chance.below(120));
    for (const { complaints, lines } of await Promise.all(processes.map((process) => process.kill()))) {
      expect(complaints).toBe('');
      for (const folder of new Set(lines.map((line) => line.split(' ')[0] ?? ''))) {
        const rows = await rowsOf(join(root, folder));
        const told = lines.filter((line) => line.startsWith(`${folder} `)).map((line) => line.split(' ')[1] ?? '');
        expect(told.filter((row) => !rows.has(row))).toEqual([]);
        acknowledged += told.length;
      }
      closed += lines.filter((line) => !line.includes(' ')).length;
    }
    // Those too that nobody heard of: killed while they were made.
    for (const folder of readdirSync(root)) await rowsOf(join(root, folder));
  }
  expect(acknowledged).toBeGreaterThan(50);
  expect(closed).toBeGreaterThan(10);
}, 240_000);
