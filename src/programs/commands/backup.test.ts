// @suite long
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, vi } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import { temporaryFolder } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { storeAt } from '../../../test/support/sample-store.ts';

// Each command is a process of its own, and this machine may be busy with other tests.
vi.setConfig({ testTimeout: 60_000 });

async function json<Shape>(...args: readonly string[]): Promise<Shape> {
  const { code, stdout, stderr } = await runCommand([...args, '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Shape;
}

/** A service that settles, with its data folder. */
async function runningService() {
  const data = temporaryFolder();
  const { id: workspaceId } = await json<{ id: string }>(
    'workspace',
    'create',
    'acme',
    '--credit',
    '1',
    '--data',
    data,
  );
  const { id: keyId } = await json<{ id: string }>('key', 'create', '--workspace', 'acme', '--data', data);
  const store = await storeAt({ kind: 'sqlite', file: join(data, 'weir.db') });
  const settle = (requestId: string) => store.settle(sampleOutcome({ workspaceId, keyId, requestId, cost: 1_000n }));
  return { data, store, settle };
}

describe('weir backup', () => {
  it('copies what a busy service has settled, and the copy is a whole ledger elsewhere', async () => {
    const { data, settle } = await runningService();
    const before = Array.from({ length: 100 }, (_, number) => `before-${number}`);
    await Promise.all(before.map(settle));
    let copying = true;
    const load = (async () => {
      for (let number = 0; copying; number += 1) await settle(`during-${number}`);
    })();
    const elsewhere = temporaryFolder();
    const file = join(elsewhere, 'weir.db');
    const printed = await json<{ rows: number; file: string }>('backup', file, '--data', data);
    copying = false;
    await load;
    expect(printed).toEqual({ rows: expect.any(Number) as number, file });
    expect(readdirSync(elsewhere)).toEqual(['weir.db']);

    const rows = await json<{ id: string }[]>('usage', '--requests', '--limit', '10000', '--data', elsewhere);
    expect(rows).toHaveLength(printed.rows);
    expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(before));
    expect(await json('ledger', 'verify', '--data', elsewhere)).toMatchObject({
      ok: true,
      file: { ok: true, damage: [] },
      workspaces: [{ name: 'acme', ok: true, requests: printed.rows }],
    });
  });

  it('refuses a name that is taken, and PostgreSQL with its own program named', async () => {
    const { data } = await runningService();
    const taken = join(temporaryFolder(), 'taken');
    writeFileSync(taken, 'precious');
    expect(await runCommand(['backup', taken, '--data', data])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`The file ${taken} exists`) as string,
    });
    expect(readFileSync(taken, 'utf8')).toBe('precious');
    const env = { WEIR_DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/d' };
    const refused = await runCommand(['backup', 'copy.db'], { env });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('pg_dump --format=custom') as string });
    expect(refused.stderr).not.toContain('secret');
  });
});

describe('weir ledger', () => {
  it('verify ends with 1 when the file is damaged, and says where', async () => {
    const { data, store, settle } = await runningService();
    await Promise.all(Array.from({ length: 300 }, (_, number) => settle(`r-${number}`)));
    await store.close();
    const file = join(data, 'weir.db');
    const bytes = readFileSync(file);
    bytes.fill(0xff, bytes.length - 4_096, bytes.length - 4_088);
    writeFileSync(file, bytes);
    const { code, stdout } = await runCommand(['ledger', 'verify', '--json', '--data', data]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, file: { ok: false, damage: [expect.any(String)] } });
    expect((await runCommand(['ledger', 'verify', '--data', data])).stdout).toContain('restore a backup');
  });

  it('verify says what it has proven, and since when requests are kept', async () => {
    const { data, settle } = await runningService();
    await settle('a');
    expect(await json('ledger', 'verify', '--data', data)).toMatchObject({
      ok: true,
      rollups: { differences: [] },
      requests: { kept_since: null, hours: 1, differences: [] },
    });
    const { stdout } = await runCommand(['ledger', 'verify', '--data', data]);
    expect(stdout).toContain('Requests equal the hourly totals; hours: 1.');
  });

  it('verify ends with 1 when a request is not what its rollup says, and names the hour', async () => {
    const { data, store, settle } = await runningService();
    await settle('a');
    await store.close();
    const database = new DatabaseSync(join(data, 'weir.db'));
    database.exec('update requests set prompt_tokens = prompt_tokens + 1');
    database.close();
    const { code, stdout } = await runCommand(['ledger', 'verify', '--data', data]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /Requests differ from the hourly totals; hours: 1:\n.*\n2026-07-01T12:00:00\.000Z +prompt_tokens/,
    );
  });

  it('shrink rewrites the file beside a running service', async () => {
    const { data, settle } = await runningService();
    await settle('a');
    const { before, after } = await json<{ before: number; after: number }>('ledger', 'shrink', '--data', data);
    expect(after).toBeLessThanOrEqual(before);
    await settle('b');
    expect(await json('ledger', 'verify', '--data', data)).toMatchObject({ ok: true, requests: { hours: 1 } });
  });
});
