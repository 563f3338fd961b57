// @suite waits
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { metricIn } from '../support/metric-in.ts';
import { runWeir } from '../support/run-weir.ts';
import { chat, newDataFolder, removeStarts, start, type Started } from '../support/start.ts';
import { backendManifest, modelManifest } from '../support/weir.ts';

interface Listed {
  readonly object: string;
  readonly problem: string;
  readonly since: string;
  readonly action: string;
}

let engine: ProgrammableEngine;
let gateway: Started;
let manifests: string;
let portal: URL;

beforeAll(async () => {
  engine = await startProgrammableEngine({ behaviour: { reasoning: 'never' } });
  const data = newDataFolder();
  manifests = join(data, 'manifests');
  mkdirSync(manifests);
  for (const name of Object.keys(good)) write(name);
  const env = { WEIR_OPS_PORT: '0', WEIR_ADMIN_PORT: '0' };
  gateway = await start(['--manifests', manifests], { data, env, portal: true });
  portal = new URL(/^portal:\s+(\S+)$/m.exec(gateway.stdout())?.[1] ?? '');
});
beforeEach(() => engine.reset());
afterAll(async () => {
  await removeStarts();
  await engine.close();
});

const good: Readonly<Record<string, () => string>> = {
  'backends.yaml': () => backendManifest('vllm-a', engine) + backendManifest('vllm-b', engine),
  'a.yaml': () => modelManifest('test/a', ['vllm-a']),
  'b.yaml': () => modelManifest('test/b', ['vllm-b']),
};

/** Writes a file as it is when it is good, or what `change` makes of that. */
function write(name: string, change: (text: string) => string = (text) => text): void {
  writeFileSync(join(manifests, name), change(good[name]?.() ?? ''));
}

/** What the machine of the test lacks is no business of these tests. */
const isOfTheGateway = ({ object }: { readonly object: string }): boolean => object !== 'disk';

async function listed(): Promise<readonly Listed[]> {
  const { stdout, stderr, code } = await runWeir(['problems', '--json', '--data', gateway.data]);
  expect([stderr, code]).toEqual(['', 0]);
  return (JSON.parse(stdout) as readonly Listed[]).filter(isOfTheGateway);
}

async function atAdminApi(): Promise<readonly Listed[]> {
  const token = readFileSync(join(gateway.data, 'admin-token'), 'utf8').trim();
  const headers = { authorization: `Bearer ${token}`, connection: 'close' };
  const response = await fetch(`${portal.origin}/api/v1/problems`, { headers });
  expect(response.status).toBe(200);
  return ((await response.json()) as { readonly data: readonly Listed[] }).data.filter(isOfTheGateway);
}

async function metric(object: string, kind: string): Promise<number> {
  const response = await fetch(gateway.opsUrl, { headers: { connection: 'close' } });
  return metricIn(await response.text(), 'weir_problem', { object, kind });
}

/** Lines of the terminal about an object, in their order. */
function printed(object: string): readonly string[] {
  const about = new RegExp(`^weir: (?:Problem|Ended): ${object}: .*$`, 'gm');
  return [...gateway.stderr().matchAll(about)].map(([line]) => line.replace('weir: ', ''));
}

const polling = { interval: 200 };

test('a gateway where all is well has none, anywhere', async () => {
  await expect.poll(listed, polling).toEqual([]);
  expect(await atAdminApi()).toEqual([]);
  expect((await runWeir(['problems', '--data', gateway.data])).stdout).toMatch(/^(No problems\.|object +since)/);
  expect(gateway.stderr()).not.toMatch(/Problem: (Model|Backend|service|envoy)/);
});

test('the doctor asks the engines of a running service, and suggests the name of a Backend', async () => {
  const { stdout, code } = await runWeir(['doctor', '--data', gateway.data, '--json']);
  const { good, diagnoses } = JSON.parse(stdout) as {
    readonly good: boolean;
    readonly diagnoses: readonly { readonly backend: string; readonly checks: readonly { readonly found: string }[] }[];
  };
  expect([code, good, diagnoses.map(({ backend }) => backend)]).toEqual([0, true, expect.arrayContaining(['vllm-a'])]);
  expect(diagnoses.flatMap(({ checks }) => checks).filter(({ found }) => found === 'bad')).toEqual([]);
  const none = await runWeir(['doctor', 'vllm-z', '--data', gateway.data]);
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('There is no Backend vllm-z (Did you mean')]);
});

describe('a manifest that breaks while the gateway runs', () => {
  const problem = expect.stringMatching(
    /^Refused: spec\.engine: expected one of .*\(backends\.yaml#1:4\)\.$/,
  ) as string;
  const action = expect.stringContaining('docs/operate/runbooks.md#weirobjectrefused') as string;

  test('is on the terminal, in weir problems, in the admin API and in the metrics, with the field and the place', async () => {
    write('backends.yaml', (text) => text.replace('engine: vllm', 'engine: vlm'));
    await expect
      .poll(() => printed('Backend/vllm-a'), polling)
      .toEqual([expect.stringMatching(/^Problem: Backend\/vllm-a: Refused: spec\.engine: expected one of/)]);
    const found = await listed();
    const since = found[0]?.since ?? '';
    expect(found).toEqual([{ object: 'Backend/vllm-a', problem, since, action }]);
    expect(Math.abs(Date.parse(since) - Date.now())).toBeLessThan(60_000);
    await expect.poll(atAdminApi, polling).toEqual([expect.objectContaining({ ...found[0], kind: 'object-refused' })]);
    expect(await metric('Backend/vllm-a', 'object-refused')).toBe(1);
    expect((await chat(gateway, { model: 'test/a' })).status).toBe(200);
  });

  test('is gone everywhere once it is mended', async () => {
    write('backends.yaml');
    await expect
      .poll(() => printed('Backend/vllm-a').at(-1), polling)
      .toMatch(/^Ended: Backend\/vllm-a: Refused: spec\.engine/);
    expect(await listed()).toEqual([]);
    await expect.poll(atAdminApi, polling).toEqual([]);
    expect(await metric('Backend/vllm-a', 'object-refused')).toBe(0);
  });

  test('is named by its file where it is no YAML', async () => {
    write('a.yaml', () => '{');
    await expect.poll(async () => (await listed()).map(({ object }) => object), polling).toEqual(['manifest/a.yaml']);
    write('a.yaml');
    await expect.poll(listed, polling).toEqual([]);
  });

  test('has the same time after the service was killed, and is not printed again', async () => {
    write('spare.yaml', () => backendManifest('spare', engine, 'vlm'));
    await expect.poll(async () => (await listed()).map(({ object }) => object), polling).toEqual(['Backend/spare']);
    const [before] = await listed();
    const pid = gateway.processes()['the service'] ?? 0;
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => gateway.processes()['the service'], polling).not.toBe(pid);
    await expect
      .poll(async () => (await listed()).map(({ object, since }) => [object, since]), polling)
      .toEqual([['Backend/spare', before?.since]]);
    rmSync(join(manifests, 'spare.yaml'));
    await expect
      .poll(() => printed('Backend/spare').map((line) => line.slice(0, 6)), polling)
      .toEqual(['Proble', 'Ended:']);
  });
});

test('a health check that fails takes backend and model down, and ends with it', async () => {
  const checked = await startProgrammableEngine({ behaviour: { healthStatus: 200 } });
  const backend = backendManifest('checked', checked).replace(
    'path: /v1}}',
    'path: /v1}, healthCheck: {path: /health, intervalSeconds: 1}}',
  );
  write('checked.yaml', () => backend + modelManifest('test/checked', ['checked']));
  await expect.poll(async () => (await chat(gateway, { model: 'test/checked' })).status, polling).toBe(200);
  checked.set({ healthStatus: 401 });
  await expect.poll(async () => (await listed()).map(({ object }) => object), polling).toEqual(['Backend/checked']);
  await expect
    .poll(async () => (await listed())[0]?.problem, polling)
    .toMatch(/^No endpoint takes requests: spec\.healthCheck.* No other route serves test\/checked\.$/);
  checked.reset();
  await expect.poll(() => printed('Backend/checked').length, polling).toBe(2);
  await expect.poll(listed, polling).toEqual([]);
  rmSync(join(manifests, 'checked.yaml'));
  await checked.close();
});

describe('requests that fail', () => {
  /** Asks the same thing of a model again and again, and returns the statuses of the answers. */
  async function askOften(model: string, times: number): Promise<readonly number[]> {
    const statuses: number[] = [];
    for (let count = 0; count < times; count += 1) {
      const response = await chat(gateway, { model });
      await response.text();
      statuses.push(response.status);
    }
    return statuses;
  }

  test('by the fault of their callers are no problem, however many', async () => {
    engine.set({ status: 400 });
    expect(new Set(await askOften('test/b', 28))).toEqual(new Set([400]));
    expect(engine.requests().length).toBeGreaterThanOrEqual(28);
    // A look that finds what was broken after the requests finds all that there is of them.
    write('spare.yaml', () => backendManifest('spare', engine, 'vlm'));
    await expect.poll(async () => (await listed()).map(({ object }) => object), polling).toEqual(['Backend/spare']);
    rmSync(join(manifests, 'spare.yaml'));
    await expect.poll(listed, polling).toEqual([]);
  });

  test('by the fault of the engine are one, of its backend, with the figure, the cause and the model', async () => {
    engine.set({ status: 500 });
    const statuses = await askOften('test/a', 28);
    expect(statuses.every((status) => status >= 500)).toBe(true);
    await expect.poll(async () => (await listed()).map(({ object }) => object), polling).toEqual(['Backend/vllm-a']);
    await expect
      .poll(async () => (await listed()).map(({ problem }) => problem), polling)
      .toEqual([
        // The engine repeats the model's name, which the request has, too.
        '28 of 28 attempts failed in the last 15 minutes (100 %). It reports an internal error (HTTP 500); ' +
          'it says “EngineCore encountered an issue (demo-engine demo, …)”. No other route serves test/a.',
      ]);
    // It was printed once, with the figure of that moment.
    expect(printed('Backend/vllm-a').filter((line) => line.includes('attempts failed'))).toEqual([
      expect.stringMatching(/^Problem: Backend\/vllm-a: (\d+) of \1 attempts failed/),
    ]);
  });
});
