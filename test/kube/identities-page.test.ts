// @suite long
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import { stringify } from 'yaml';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { shellCommands } from '../lint/examples/shell-commands.ts';
import { backend, model } from '../support/catalog-objects.ts';
import { forFile } from '../support/for-file.ts';
import { imageIn } from '../support/image.ts';
import { startKubeApiServer } from './support/api-server.ts';
import { helm, objectsIn } from './support/helm.ts';
import { kubectl } from './support/kubectl.ts';
import { podOf } from './support/pod-shape.ts';
import { type Pod, startPod } from './support/pod.ts';

// The way of docs/how-to/identities.md from an empty cluster to a model that is called without a key, and an engineer's first mistakes on
// it. There are no nodes: the pod of the chart runs as processes, and another engine than vLLM's pods answers.

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'how-to', 'identities.md'), 'utf8');
const [, block = ''] = /## From an empty cluster\n.*?```sh\n(.*?)```/s.exec(page) ?? [];
const commands = shellCommands(block).map(({ words }) => words);
const command = (...words: readonly string[]): readonly string[] =>
  commands.find((one) => words.every((word) => one.includes(word)))?.slice(1) ?? [];

let pod: Pod;
afterEach(() => pod.remove());

const namespace = 'weir-system';
const cluster = await forFile(startKubeApiServer());
const image = await imageIn(inject('imageFolder'));
const engine = await forFile(startProgrammableEngine({ models: ['m'] }));

async function run(words: readonly string[], input?: string): Promise<string> {
  expect(words).not.toEqual([]);
  const { code, stdout, stderr } = await kubectl(cluster, words, input);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trim();
}

/** Installs the chart, and starts its pod. */
async function release(words: readonly string[]): Promise<Pod> {
  const { kubeconfig } = cluster;
  const install = words.filter((word) => word !== '--wait').map((word) => word.replace('$IMAGE', 'weir'));
  const done = await helm([...install, '--kubeconfig', kubeconfig], { kubeconfig });
  expect(done).toMatchObject({ code: 0 });
  const manifest = await helm(['get', 'manifest', 'weir', '--namespace', namespace], { kubeconfig });
  return startPod(podOf(objectsIn(manifest.stdout)), { connection: cluster, namespace, app: image.app });
}

test('the commands lead to an answer and its bill without a key, and what is wrong is named', async () => {
  pod = await release(command('install'));
  const weir = async (...words: readonly string[]): Promise<string> =>
    (await pod.exec('service', ['node', '/app/src/main.ts', ...words])).stdout;
  const { port } = new URL(engine.url);
  const objects = [
    backend('local', { endpoint: { host: '127.0.0.1', port: Number(port) } }),
    model('qwen3-8b', { id: 'qwen/qwen3-8b', routes: [{ backend: 'local', upstreamModel: 'm' }] }),
  ];
  const text = objects.map(({ value }) => stringify(value, { version: '1.1' })).join('---\n');
  // A new kind is unknown for about two seconds.
  await expect.poll(() => kubectl(cluster, ['-n', namespace, 'apply', '-f', '-'], text)).toMatchObject({ code: 0 });
  await run(command('examples/kubernetes/identity.yaml'));
  await run([...command('wait'), '--timeout=60s']);

  const tokenFor = (audience: string): Promise<string> =>
    run(['-n', namespace, 'create', 'token', 'indexer', '--audience', audience]);
  expect(block).toContain(`-n ${namespace} create token indexer --audience weir`);
  const ask = async (token: string): Promise<number> => {
    const answer = await fetch(`http://127.0.0.1:${pod.port('edge')}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model: 'qwen/qwen3-8b', messages: [{ role: 'user', content: 'Hello!' }] }),
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  await expect.poll(async () => ask(await tokenFor('weir')), { interval: 200 }).toBe(200);
  expect(await weir('usage', '--by', 'key')).toContain('search-workloads');
  expect(await weir('top')).toContain('search-team / search-workloads');

  expect(await ask(await tokenFor('another'))).toBe(401);
  await expect.poll(() => weir('problems'), { interval: 200 }).toContain('aud is "another", expected "weir"');
  expect(pod.log('service')).toContain('"fault":"other-audience","reason":"aud is \\"another\\", expected \\"weir\\""');

  await run([
    '-n',
    namespace,
    'patch',
    'identity',
    'search-workloads',
    '--type=merge',
    '-p',
    '{"spec":{"workspace":"none"}}',
  ]);
  await expect
    .poll(() => weir('problems'), { interval: 200 })
    .toMatch(/Identity\/weir-system\/search-workloads .*expected a Workspace in namespace "weir-system"/);
});
