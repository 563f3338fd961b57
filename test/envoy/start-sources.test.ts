import { readFileSync, statSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { startDemoEngine, type DemoEngine } from '../../examples/demo-engine/engine.ts';
import { chat, newDataFolder, removeStarts, start, type Started } from '../support/start.ts';
import { runWeir } from '../support/run-weir.ts';

let engine: DemoEngine | undefined;

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
    engine = await startDemoEngine({ models: ['Qwen/Qwen3-8B', { id: 'tiny:1b', maxModelLen: 4096 }] });
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
    expect(Object.keys(gateway.processes())).not.toContain('the demo engine');
  },
);

test("an upstream's key is sent to it, stays out of the output, and lies in a file for its owner alone", async () => {
  engine = await startDemoEngine({ models: ['m'], apiKey: 'sk-upstream-1' });
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

function manifest(port: number): string {
  return `
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: mine}
spec:
  engine: vllm
  endpoint: {host: 127.0.0.1, port: ${port}, path: /v1}
---
apiVersion: weir.dev/v1alpha1
kind: Model
metadata: {name: mine}
spec:
  id: mine/one
  ownedBy: me
  added: "2026-06-01T00:00:00Z"
  contextLength: 4096
  pricing: {prompt: "0", completion: "0"}
  routes: [{backend: mine, upstreamModel: m}]
`;
}

test('a folder of manifests with --no-demo has no demo key; one made beside the running service works', async () => {
  engine = await startDemoEngine({ models: ['m'] });
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

test('--no-demo alone starts on an empty folder and follows what is put there', async () => {
  engine = await startDemoEngine({ models: ['m'] });
  const gateway = await start(['--no-demo']);
  expect(gateway.stdout()).toContain('models:    none yet');
  const [, folder = ''] = /^manifests: (.+)$/m.exec(gateway.stdout()) ?? [];
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'mine.yaml'), manifest(engine.port));
  await expect.poll(() => listed(gateway), { timeout: 10_000, interval: 200 }).toHaveLength(1);
});

test('an upstream that is stopped later does not keep the gateway from ending', async () => {
  engine = await startDemoEngine({ models: ['m'] });
  const gateway = await start(['--upstream', engine.url]);
  await engine.close();
  expect((await chat(gateway, { model: 'local/m' })).status).toBeGreaterThanOrEqual(500);
  expect((await gateway.stop()).code).toBe(0);
});
