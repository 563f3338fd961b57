import { readdirSync, readFileSync, rmSync, statSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { startProgrammableEngine, type ProgrammableEngine } from '../programmable-engine/engine.ts';
import { allGone, chat, newDataFolder, removeStarts, start, type Started } from '../support/start.ts';
import { runWeir } from '../support/run-weir.ts';

let engine: ProgrammableEngine | undefined;

afterEach(async () => {
  await removeStarts();
  await engine?.close();
  engine = undefined;
});

interface ListedModel {
  readonly id: string;
  readonly owned_by: string;
  readonly context_length: number;
  readonly pricing: { readonly prompt: string; readonly completion: string };
}

async function listed({ baseUrl }: Started): Promise<readonly ListedModel[]> {
  const response = await fetch(`${baseUrl}/models`, { headers: { connection: 'close' } });
  return ((await response.json()) as { readonly data: readonly ListedModel[] }).data;
}

test.each(['', '/', '/v1', '/v1/', '/v1/models'])(
  'an upstream written with "%s" at its end serves its models for nothing',
  async (suffix) => {
    engine = await startProgrammableEngine({ models: ['Qwen/Qwen3-8B', { id: 'tiny:1b', maxModelLen: 4096 }] });
    const gateway = await start(['--upstream', engine.url + suffix]);
    const models = await listed(gateway);
    expect(models.map(({ id, owned_by, context_length }) => [id, owned_by, context_length])).toEqual([
      ['local/tiny-1b', 'local', 4096],
      ['qwen/qwen3-8b', 'qwen', 131_072],
    ]);
    expect(models[0]?.pricing).toMatchObject({ prompt: '0', completion: '0' });
    const answer = await chat(gateway, { model: 'local/tiny-1b' });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ model: 'local/tiny-1b', usage: { cost: 0 } });
    expect(gateway.stderr()).toContain('"tiny:1b" is called local/tiny-1b here; requests may name it tiny:1b, too.');
    expect(gateway.stderr()).not.toContain('"Qwen/Qwen3-8B" is called');
    const byItsName = await chat(gateway, { model: 'tiny:1b' });
    expect([byItsName.status, await byItsName.json()]).toMatchObject([200, { model: 'local/tiny-1b' }]);
    expect(Object.keys(gateway.processes())).not.toContain('the demo engine');
  },
);

test("an upstream's key is sent to it, stays out of the output, and lies in a file for its owner alone", async () => {
  engine = await startProgrammableEngine({ models: ['m'], apiKey: 'sk-upstream-1' });
  const gateway = await start([
    '--upstream',
    engine.url,
    '--upstream-key',
    'sk-upstream-1',
    '--price',
    '0.000001,0.000002',
  ]);
  const answer = await chat(gateway, { model: 'local/m' });
  expect(answer.status).toBe(200);
  const { usage } = (await answer.json()) as {
    usage: { prompt_tokens: number; completion_tokens: number; cost: number };
  };
  expect(usage.cost).toBeCloseTo(usage.prompt_tokens * 0.000001 + usage.completion_tokens * 0.000002, 12);
  const secret = join(gateway.data, 'manifests-upstream', 'secret.yaml');
  expect(readFileSync(secret, 'utf8')).toContain('sk-upstream-1');
  expect(statSync(secret).mode & 0o777).toBe(0o600);
  const { stdout, stderr } = await gateway.stop();
  expect(stdout + stderr).not.toContain('sk-upstream-1');
  for (const log of ['service.log', 'envoy.log']) {
    expect(readFileSync(join(gateway.data, 'logs', log), 'utf8')).not.toContain('sk-upstream-1');
  }
});

test("an upstream's key in the environment of the start is not in that of its service", async () => {
  engine = await startProgrammableEngine({ models: ['m'], apiKey: 'sk-upstream-1' });
  const gateway = await start(['--upstream', engine.url], { env: { WEIR_UPSTREAM_KEY: 'sk-upstream-1' } });
  expect((await chat(gateway, { model: 'local/m' })).status).toBe(200);
  const { 'weir start': starter = 0, 'the service': service = 0 } = gateway.processes();
  const environment = (pid: number): string => readFileSync(`/proc/${pid}/environ`, 'utf8');
  expect(environment(starter)).toContain('sk-upstream-1');
  expect(environment(service)).not.toContain('sk-upstream-1');
});

function manifest(port: number, name = 'mine'): string {
  return `
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: ${name}}
spec:
  engine: vllm
  endpoint: {host: 127.0.0.1, port: ${port}, path: /v1}
---
apiVersion: weir.dev/v1alpha1
kind: Model
metadata: {name: ${name}}
spec:
  id: ${name}/one
  ownedBy: me
  added: "2026-06-01T00:00:00Z"
  contextLength: 4096
  pricing: {prompt: "0", completion: "0"}
  routes: [{backend: ${name}, upstreamModel: m}]
`;
}

test('a folder of manifests with --no-demo has no demo key; one made beside the running service works', async () => {
  engine = await startProgrammableEngine({ models: ['m'] });
  const folder = newDataFolder();
  writeFileSync(join(folder, 'mine.yaml'), manifest(engine.port));
  const gateway = await start(['--manifests', folder, '--no-demo']);
  expect(gateway.key).toBe('');
  expect(gateway.stdout()).not.toContain('sk-weir-');
  expect((await listed(gateway)).map(({ id }) => id)).toEqual(['mine/one']);

  const made = await runWeir(['workspace', 'create', 'w', '--credit', '1', '--json', '--data', gateway.data]);
  expect(made).toMatchObject({ code: 0 });
  const { stdout } = await runWeir(['key', 'create', '--workspace', 'w', '--json', '--data', gateway.data]);
  const { key } = JSON.parse(stdout) as { readonly key: string };
  expect((await chat({ ...gateway, key }, { model: 'mine/one' })).status).toBe(200);
});

test('the example names a model whose engine answers, and not one whose engine is dead', async () => {
  engine = await startProgrammableEngine({ models: ['m'] });
  const dead = await startProgrammableEngine();
  await dead.close();
  const folder = newDataFolder();
  writeFileSync(join(folder, 'live.yaml'), manifest(engine.port));
  writeFileSync(join(folder, 'dead.yaml'), manifest(dead.port, 'dead'));
  const gateway = await start(['--manifests', folder]);
  expect(gateway.stdout()).toContain('models:    dead/one, mine/one');
  expect(gateway.stdout()).toMatch(/^Try it:\n\nKEY=[^}]*"model": "mine\/one"/m);
  await gateway.stop();

  rmSync(join(folder, 'live.yaml'));
  const alone = await start(['--manifests', folder]);
  expect(alone.stdout()).toMatch(/^No engine answers yet\. Try it once one does:\n\nKEY=[^}]*"model": "dead\/one"/m);
});

test('a key that is made names the address of the gateway that runs here, and a model that the key may call', async () => {
  engine = await startProgrammableEngine({ models: ['m', 'n'] });
  const gateway = await start(['--upstream', engine.url]);
  const create = async (...more: readonly string[]): Promise<string> =>
    (await runWeir(['key', 'create', '--workspace', 'demo', ...more, '--data', gateway.data])).stdout;
  const limited = await create('--models', 'local/n');
  expect(limited).toContain(`export OPENAI_BASE_URL=${gateway.baseUrl} OPENAI_API_KEY=sk-weir-`);
  expect(limited).toContain(`"model": "local/n"`);
  expect(limited).not.toMatch(/HOST:PORT|ORG\/MODEL|localhost:8080/);
  const [, key = ''] = /OPENAI_API_KEY=(\S+)/.exec(limited) ?? [];
  expect((await chat({ ...gateway, key }, { model: 'local/n' })).status).toBe(200);
  expect(await create('--models', 'other/model')).toContain('ORG/MODEL: put in a model');

  await gateway.stop();
  const alone = await create();
  expect(alone).toContain('export OPENAI_BASE_URL=http://HOST:PORT/v1 OPENAI_API_KEY=sk-weir-');
  expect(alone).toContain('HOST:PORT: no gateway runs with this data folder, put in the address of yours');
});

test('a gateway that was killed is not named: its address answers nothing', async () => {
  const gateway = await start([]);
  const pids = gateway.processes();
  await gateway.stop('SIGKILL');
  await allGone(pids);
  const made = await runWeir(['key', 'create', '--workspace', 'demo', '--data', gateway.data]);
  expect(readdirSync(join(gateway.data, 'ops'))).toContain('gateway');
  expect(made.stdout).toContain('http://HOST:PORT/v1');
});

test('--no-demo alone starts on an empty folder and follows what is put there', async () => {
  engine = await startProgrammableEngine({ models: ['m'] });
  const gateway = await start(['--no-demo']);
  expect(gateway.stdout()).toContain('models:    none yet');
  const [, folder = ''] = /^manifests:\s+(.+)$/m.exec(gateway.stdout()) ?? [];
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'mine.yaml'), manifest(engine.port));
  await expect.poll(() => listed(gateway), { interval: 200 }).toHaveLength(1);
});

test('an upstream that is stopped later does not keep the gateway from ending', async () => {
  engine = await startProgrammableEngine({ models: ['m'] });
  const gateway = await start(['--upstream', engine.url]);
  await engine.close();
  expect((await chat(gateway, { model: 'local/m' })).status).toBeGreaterThanOrEqual(500);
  expect((await gateway.stop()).code).toBe(0);
});
