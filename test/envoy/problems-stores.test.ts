// @suite waits
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { metricIn } from '../support/metric-in.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { runWeir } from '../support/run-weir.ts';
import { newDataFolder, removeStarts, start, type Started } from '../support/start.ts';
import { startValkey, type TestValkey } from '../support/valkey.ts';
import { backendManifest, modelManifest } from '../support/weir.ts';

// Two services on one PostgreSQL and one Valkey: what both of them see is one problem.

interface Listed {
  readonly object: string;
  readonly problem: string;
  readonly since: string;
}

let server: Postgres;
let valkey: TestValkey;
let engine: ProgrammableEngine;
let gateway: Started;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  [server, valkey] = await Promise.all([startPostgres(), startValkey()]);
  engine = await startProgrammableEngine({ behaviour: { reasoning: 'never' } });
  const manifests = newDataFolder();
  const catalog = backendManifest('vllm-a', engine) + modelManifest('test/a', ['vllm-a']);
  writeFileSync(join(manifests, 'catalog.yaml'), catalog);
  env = { WEIR_DATABASE_URL: await server.database('accounts'), WEIR_VALKEY_URL: valkey.url };
  gateway = await start(['--manifests', manifests, '--replicas', '2'], { env });
});
afterAll(async () => {
  await removeStarts();
  await engine.close();
  await Promise.all([server.close(), valkey.close()]);
});

const polling = { interval: 200 };

/** What `weir problems` lists, but for what the machine of the test lacks. */
async function listed(): Promise<readonly Listed[]> {
  const { stdout, code } = await runWeir(['problems', '--json'], { env: { ...env, WEIR_DATA: gateway.data } });
  expect(code).toBe(0);
  return (JSON.parse(stdout) as readonly Listed[]).filter(({ object }) => object !== 'disk');
}

/** Either service may answer, and each sees for itself that its database is down. */
async function isDownInMetrics(): Promise<number> {
  const metrics = await (await fetch(gateway.opsUrl, { headers: { connection: 'close' } })).text();
  return metricIn(metrics, 'weir_problem', { object: 'database', kind: 'database-down' });
}

/** Lines of the terminal about an object, in their order, by their first word. */
function printed(object: string): readonly string[] {
  return [...gateway.stderr().matchAll(new RegExp(`^weir: (Problem|Ended): ${object}: `, 'gm'))].map(
    ([, word = '']) => word,
  );
}

test('a Valkey that is away is one problem of both services, until it is back', async () => {
  await expect.poll(listed, polling).toEqual([]);
  await valkey.kill();
  await expect.poll(() => printed('valkey'), polling).toEqual(['Problem']);
  await expect.poll(listed, polling).toMatchObject([
    {
      object: 'valkey',
      problem: expect.stringMatching(/^Refuses connections \(.+\): each replica keeps to its share of the limits\.$/),
    },
  ]);
  await valkey.start();
  await expect.poll(() => printed('valkey'), polling).toEqual(['Problem', 'Ended']);
  expect(await listed()).toEqual([]);
});

test('a database that is away is on the terminal and in the metrics, and the command names it though it cannot ask the services', async () => {
  await server.stop();
  // Without a request.
  await expect.poll(() => printed('database'), polling).toEqual(['Problem']);
  expect(await listed()).toMatchObject([
    { object: 'database', problem: expect.stringMatching(/the command cannot open it/) },
  ]);
  await expect.poll(isDownInMetrics, polling).toBe(1);
  await server.start();
  await expect.poll(() => printed('database').at(-1), polling).toBe('Ended');
  await expect.poll(listed, polling).toEqual([]);
  expect(printed('database').filter((word) => word === 'Problem').length).toBeLessThanOrEqual(2);
});
