import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { shellCommands } from '../lint/examples/shell-commands.ts';
import { type Image, imageIn } from '../support/image.ts';
import { readmeBlock } from '../support/readme-blocks.ts';
import { type KubeApiServer, startKubeApiServer } from './support/api-server.ts';
import { helm, objectsIn } from './support/helm.ts';
import { kubectl } from './support/kubectl.ts';
import { podOf } from './support/pod-shape.ts';
import { type Pod, startPod } from './support/pod.ts';

// The Kubernetes commands of README.md, in their order, on a cluster of their own. There are no nodes: what `docker build` makes is
// the folder of the image, and the pod of the chart runs as processes. So `helm --wait` would wait for ever, and is left out.

const root = join(import.meta.dirname, '..', '..');
const namespace = 'weir-system';
const commands = shellCommands(readmeBlock('kubernetes')).map(({ words }) => words);
let cluster: KubeApiServer;
let image: Image;
let pod: Pod;
/** What the commands so far have left for the next ones. */
let built = '';
let key = '';

beforeAll(async () => {
  [cluster, image] = await Promise.all([startKubeApiServer(), imageIn(inject('imageFolder'))]);
}, 240_000);

afterAll(async () => {
  await cluster.close();
});

afterEach(async () => {
  await pod.remove();
});

type Words = readonly string[];

async function object(...what: Words): Promise<unknown> {
  const { code, stdout, stderr } = await kubectl(cluster, ['-n', namespace, 'get', ...what, '-o', 'json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

async function helmInstall(words: Words): Promise<void> {
  expect(words).toContain('--wait');
  const at = ['--kubeconfig', cluster.kubeconfig];
  const install = words.slice(1).filter((word) => word !== '--wait');
  const installed = await helm([...install, ...at], { kubeconfig: cluster.kubeconfig });
  expect({ code: installed.code, stderr: installed.stderr }).toMatchObject({ code: 0 });
  const manifest = await helm(['get', 'manifest', 'weir', '--namespace', namespace], {
    kubeconfig: cluster.kubeconfig,
  });
  const objects = objectsIn(manifest.stdout);
  // The pod gets the image that was built and pushed, under the very name.
  expect(JSON.stringify(podOf(objects).spec.containers)).toContain(`"image":"${built}"`);
  pod = await startPod(podOf(objects), { connection: cluster, namespace, app: image.app });
}

async function kubectlApply(words: Words): Promise<void> {
  const file = words.at(-1) ?? '';
  expect(existsSync(join(root, file))).toBe(true);
  // A new kind is unknown for about two seconds. In a cluster with nodes, `helm --wait` takes longer.
  const apply = async () => {
    const { code, stderr } = await kubectl(cluster, words.slice(1));
    return { code, stderr };
  };
  await expect.poll(apply).toEqual({ code: 0, stderr: '' });
  for (const kind of ['models', 'backends'])
    expect(await object(kind)).toMatchObject({ items: [{ kind: expect.anything() }] });
}

async function kubectlExec(words: Words): Promise<void> {
  const at = words.indexOf('--');
  expect(words.slice(0, at)).toEqual(['kubectl', '-n', namespace, 'exec', 'statefulset/weir', '-c', 'service']);
  expect(await object('statefulset/weir')).toMatchObject({ kind: 'StatefulSet' });
  const [program, ...parameters] = words.slice(at + 1);
  expect(program).toBe('weir');
  // What `weir` in the image's PATH runs (test/house/image.test.ts).
  const { stdout } = await pod.exec('service', ['node', '/app/src/main.ts', ...parameters]);
  key = /sk-weir-\w+/.exec(stdout)?.[0] ?? key;
}

async function portForward(words: Words): Promise<void> {
  const [service = '', ports = ''] = words.slice(-2);
  const [here, there] = ports.split(':').map(Number);
  expect(await object(service)).toMatchObject({ spec: { ports: [{ port: there, targetPort: 'edge' }] } });
  expect(readmeBlock('request')).toContain(`http://127.0.0.1:${here}/`);
}

/** What runs a command, by its program and its verb. */
const runners: Readonly<Record<string, (words: Words) => Promise<void> | void>> = {
  'docker build': (words) => {
    expect([words[2], words[4]]).toEqual(['-t', '.']);
    built = words[3] ?? '';
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
    expect(built).toMatch(new RegExp(`/weir:${RegExp.escape(version)}$`));
  },
  'docker push': (words) => expect(words.slice(2)).toEqual([built]),
  'helm install': helmInstall,
  'kubectl apply': kubectlApply,
  'kubectl exec': kubectlExec,
  // No pod of vLLM is ready here. The object and its condition are the ones that the command names.
  'kubectl wait': async (words) => {
    expect(words).toContain('--for=condition=Listed');
    const name = words.find((word) => word.startsWith('model/')) ?? '';
    await expect
      .poll(() => object(name))
      .toMatchObject({ status: { conditions: expect.arrayContaining([expect.objectContaining({ type: 'Listed' })]) } });
  },
  'kubectl port-forward': portForward,
};

/** `kubectl -n NAMESPACE apply …` is `kubectl apply`. */
const nameOf = ([program = '', ...words]: Words): string =>
  `${program} ${words[0] === '-n' ? (words[2] ?? '') : (words[0] ?? '')}`;

async function expectToWork(words: Words): Promise<void> {
  const run = runners[nameOf(words)];
  if (run === undefined) throw new Error(`nothing runs \`${nameOf(words)}\``);
  await run(words);
}

const shown = commands.filter((words) => words.length > 0).map((words) => ({ words, command: words.join(' ') }));

// One test, because the pod that one command starts serves the next ones.
test('the commands work in their order, the key is good, and the Model is served as soon as one of its pods is ready', async () => {
  for (const { words } of shown) await expectToWork(words);
  const ask = async (model: string): Promise<number> => {
    const response = await fetch(`http://127.0.0.1:${pod.port('edge')}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  // 503: no pod of vLLM is ready. 400: there is no such model.
  await expect.poll(() => ask('qwen/qwen3-8b'), { timeout: 60_000 }).toBe(503);
  expect(await ask('no/such')).toBe(400);
});
