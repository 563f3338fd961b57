import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { findOrInstall } from '../support/debian-package.ts';
import { startPostgres } from '../support/postgres.ts';
import { runWeir } from '../support/run-weir.ts';
import { temporaryFolder } from '../support/sample-database.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';
import { storeAt } from '../support/sample-store.ts';
import { forFile } from '../support/for-file.ts';

const run = promisify(execFile);

const server = await forFile(startPostgres());

/** The commands of the page that begin with a program of PostgreSQL's, as they stand there. */
function documented(program: string): string {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'operate', 'backup.md'), 'utf8');
  const command = page.split('\n').find((line) => line.startsWith(`${program} `));
  if (command === undefined) throw new Error(`the page does not say how to use ${program}`);
  return command.replaceAll('postgres://USER@HOST', server.url.replace(/\/postgres$/, ''));
}

it('a dump made and restored as the page says holds every row that was settled before, and its books agree', async () => {
  const url = await server.database('weir');
  const env = { WEIR_DATABASE_URL: url };
  const json = async (args: readonly string[], on = env) => {
    const { code, stdout, stderr } = await runWeir([...args, '--json'], { env: on });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as { id: string } & readonly { id: string }[];
  };
  const { id: workspaceId } = await json(['workspace', 'create', 'acme', '--credit', '1']);
  const { id: keyId } = await json(['key', 'create', '--workspace', 'acme']);
  const store = await storeAt({ kind: 'postgres', url });
  const settle = (requestId: string) => store.settle(sampleOutcome({ workspaceId, keyId, requestId, cost: 1_000n }));
  const before = Array.from({ length: 100 }, (_, number) => `before-${number}`);
  await Promise.all(before.map(settle));

  const programs = dirname(
    await findOrInstall({ program: 'pg_dump', package: 'postgresql', folders: ['/usr/lib/postgresql/*/bin'] }),
  );
  const cwd = temporaryFolder();
  const shell = (command: string) =>
    run('sh', ['-c', command], { cwd, env: { ...env, PATH: `${programs}:${process.env['PATH'] ?? ''}` } });
  let dumping = true;
  const load = (async () => {
    for (let number = 0; dumping; number += 1) await settle(`during-${number}`);
  })();
  await shell(documented('pg_dump'));
  dumping = false;
  await load;
  for (const program of ['createdb', 'pg_restore']) await shell(documented(program));

  const restored = { WEIR_DATABASE_URL: url.replace(/\/weir$/, '/weir_restored') };
  const rows = await json(['usage', '--requests', '--limit', '10000'], restored);
  expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(before));
  expect(await json(['ledger', 'verify'], restored)).toMatchObject({
    ok: true,
    workspaces: [{ name: 'acme', ok: true, requests: rows.length }],
  });
});
