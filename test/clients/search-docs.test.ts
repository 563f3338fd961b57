// @suite long
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { forFile } from '../support/for-file.ts';
import { freePort } from '../support/free-port.ts';
import { startWeir } from '../support/weir.ts';
import { installPinned } from './install.ts';

// examples/search as its README shows it: the demo of `npm start`, and a PostgreSQL with pgvector, here PGlite.

const [{ npm }, port] = await Promise.all([installPinned(), freePort()]);
const weir = await forFile(startWeir({ flags: [] }));
await forFile(startPostgres());

async function startPostgres(): Promise<{ readonly close: () => Promise<void> }> {
  const program = join(npm, 'node_modules', '@electric-sql', 'pglite-socket', 'dist', 'scripts', 'server.js');
  const parameters = ['--port', String(port), '--extensions', '@electric-sql/pglite-pgvector:vector'];
  const child = spawn(process.execPath, [program, ...parameters], { stdio: ['ignore', 'pipe', 'pipe'] });
  const gone = once(child, 'exit');
  const lines: string[] = [];
  const listening = new Promise<void>((resolve) => {
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on('line', (line) => {
        lines.push(line);
        if (line.includes('listening')) resolve();
      });
    }
  });
  const ended = gone.then(() => {
    throw new Error(`PGlite ended before it listened:\n${lines.join('\n')}`);
  });
  await Promise.race([listening, ended]);
  ended.catch(() => undefined);
  return {
    close: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

async function search(...words: readonly string[]): Promise<readonly string[]> {
  const program = join(import.meta.dirname, '..', '..', 'examples', 'search', 'search.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...words], {
    env: {
      ...process.env,
      DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/postgres`,
      ...{ OPENAI_BASE_URL: weir.baseUrl, OPENAI_API_KEY: weir.key },
    },
  });
  return stdout.trim().split('\n');
}

test('the sections of the pages are found by their words', async () => {
  const [count = ''] = await search();
  expect(Number(/^(\d+) sections$/.exec(count)?.[1])).toBeGreaterThan(300);
  const found = await search('rotate', 'the', 'seal', 'keys');
  expect(found).toHaveLength(5);
  expect(found.join('\n')).toContain('docs/how-to/web-search.md: ### Seal keys');
  // The sections, in however many pieces, and the question.
  const rows = await weir.ledger();
  expect(rows.map((row) => [row['model'], row['outcome']])).toEqual([
    ['demo/embed', 'completed'],
    ['demo/embed', 'completed'],
  ]);
});
