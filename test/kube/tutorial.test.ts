// @suite long
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { shellCommands } from '../lint/examples/shell-commands.ts';
import { forFile } from '../support/for-file.ts';
import { imageIn } from '../support/image.ts';
import { readmeBlock } from '../support/readme-blocks.ts';
import { untilHolds } from '../support/until-holds.ts';
import { startKubeApiServer } from './support/api-server.ts';
import { helm, objectsIn } from './support/helm.ts';
import { kubectl } from './support/kubectl.ts';
import { podOf } from './support/pod-shape.ts';
import { type Pod, startPod } from './support/pod.ts';
import { podAddress, serviceOf } from './support/service.ts';

// Every command of docs/start/tutorial.md, in its order, against a real API server. There are no nodes: the pod of the chart runs as
// processes, engines of the tests stand for llama.cpp, and the caller's script runs on this machine with the caller's real token.

type Words = readonly string[];

const root = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(root, 'docs', 'start', 'tutorial.md'), 'utf8');
const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
const commands = shellCommands(blocks.join('')).map(({ words }) => words);

/** Blocks with what commands print. */
const shownBlocks = 4;

const namespace = 'weir-system';
const cluster = await forFile(startKubeApiServer());
const image = await imageIn(inject('imageFolder'));
const startEngine = (name: string) =>
  startProgrammableEngine({
    ...{ name, host: podAddress ?? '127.0.0.1', models: ['qwen3-0.6b'] },
    behaviour: { reasoning: 'never', words: 80 },
  });
// The first one is ended in the middle of an answer.
const engineA = await startEngine('engine-a');
const engines = [engineA, await forFile(startEngine('engine-b'))];

let pod: Pod | undefined;
let portalToken = '';
let isAlive = true;
/** What the caller has got, and the process that gets it. */
let answer = { text: '', process: undefined as ChildProcess | undefined };

afterEach(async () => {
  await pod?.remove();
  if (isAlive) await engineA.close();
});

function runningPod(): Pod {
  if (pod === undefined) throw new Error('the chart is not installed yet');
  return pod;
}

/** Runs kubectl as the page does. */
async function run(words: Words, input?: string): Promise<string> {
  const { code, stdout, stderr } = await kubectl(cluster, words, input);
  expect({ code, stderr: stderr.replaceAll(/^Warning: .*\n?|^No resources found.*\n?/gm, '') }).toEqual({
    code: 0,
    stderr: '',
  });
  return stdout.trim();
}

async function helmInstall(words: Words): Promise<void> {
  const { kubeconfig } = cluster;
  const install = words.slice(1).filter((word) => word !== '--wait');
  const done = await helm([...install, '--kubeconfig', kubeconfig], { kubeconfig });
  expect({ code: done.code, stderr: done.stderr }).toMatchObject({ code: 0 });
  const manifest = await helm(['get', 'manifest', 'weir', '--namespace', namespace], { kubeconfig });
  const data = JSON.parse(await run(['-n', namespace, 'get', 'secret', 'weir-portal', '-o', 'json'])) as {
    readonly data: { readonly token: string };
  };
  const secrets = { 'weir-portal': { token: Buffer.from(data.data.token, 'base64').toString() } };
  const template = podOf(objectsIn(manifest.stdout));
  expect(JSON.stringify(template.spec.containers)).toContain('"image":"registry.example.com/weir:0.1.0"');
  pod = await startPod(template, { ...{ connection: cluster, namespace, app: image.app }, secrets });
}

async function kubectlApply(words: Words): Promise<void> {
  // One of the two engines is enough, and the other one is checked.
  const dry = words.some((word) => word.endsWith('gpu.yaml')) ? ['--dry-run=server'] : [];
  // A new kind is unknown for about two seconds.
  await expect.poll(() => kubectl(cluster, [...words.slice(1), ...dry])).toMatchObject({ code: 0 });
}

async function kubectlWait(words: Words): Promise<void> {
  if (words.includes('model/chat')) {
    for (const engine of engines) await serviceOf(cluster, namespace, engine.name).pod('0', engine, 'ready');
  } else {
    const status = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify(status)];
    await run(['-n', namespace, 'patch', 'pod', 'caller', ...patch]);
  }
  await run([...words.slice(1).filter((word) => !word.startsWith('--timeout')), '--timeout=60s']);
}

/** Begins to run the script of the caller's pod, with the token that the kubelet would mount. */
async function ask(prompt: string): Promise<void> {
  const script = await run(['-n', namespace, 'get', 'configmap', 'caller', '-o', 'jsonpath={.data.ask}']);
  const token = await run(['-n', namespace, 'create', 'token', 'caller', '--audience', 'weir']);
  const here = script
    .replace('http://weir/', `http://127.0.0.1:${runningPod().port('edge')}/`)
    .replace('$(cat /var/run/secrets/weir/token)', '$TOKEN');
  const child = spawn('sh', ['-c', here, 'ask', prompt], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TOKEN: token },
  });
  const got = { text: '', process: child };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    got.text += text;
  });
  answer = got;
}

async function wholeAnswer(): Promise<string> {
  const { process: child } = answer;
  if (child !== undefined && child.exitCode === null) await once(child, 'close');
  return answer.text;
}

async function kubectlExec(words: Words): Promise<void> {
  const at = words.indexOf('--');
  const [program = '', ...rest] = words.slice(at + 1);
  if (words.includes('caller')) {
    expect([program, rest[0]]).toEqual(['sh', '/app/ask']);
    if (rest[1]?.includes('long') === true) engineA.set({ reasoning: 'never', words: 80, tokenDelayMs: 100 });
    await ask(rest[1] ?? '');
    // The page kills an engine during the second answer, in another terminal.
    if (rest[1]?.includes('long') !== true) {
      expect(await wholeAnswer()).toMatch(/"cost":0\.\d+[^]*\n\ndata: \[DONE\]\n\n$/);
    }
    return;
  }
  expect(words.slice(0, at)).toEqual(['kubectl', '-n', namespace, 'exec', 'statefulset/weir', '-c', 'service']);
  expect(program).toBe('weir');
  const { stdout } = await runningPod().exec('service', ['node', '/app/src/main.ts', ...rest]);
  printed.set(rest.join(' '), stdout);
}
const printed = new Map<string, string>();

async function kubectlDelete(words: Words): Promise<void> {
  if (words.includes('pod')) {
    // In the middle: some words have come, and the engine has more.
    await untilHolds(() => expect(answer.text.match(/"content":"[^"]/g)?.length ?? 0).toBeGreaterThan(5));
    await engineA.close();
    isAlive = false;
  }
  const isNamespace = words.includes('namespace');
  await run([...words.slice(1), ...(isNamespace ? ['--wait=false'] : [])]);
}

const runners: Readonly<Record<string, (words: Words) => Promise<void> | void>> = {
  'docker build': (words) =>
    expect(readmeBlock('kubernetes').replaceAll('$IMAGE', 'registry.example.com/weir')).toContain(words.join(' ')),
  'docker push': (words) => expect(words.at(-1)).toBe('registry.example.com/weir:0.1.0'),
  'helm install': helmInstall,
  'helm uninstall': async (words) => {
    const done = await helm([...words.slice(1), '--kubeconfig', cluster.kubeconfig], {
      kubeconfig: cluster.kubeconfig,
    });
    expect(done).toMatchObject({ code: 0 });
  },
  'kubectl apply': kubectlApply,
  'kubectl wait': kubectlWait,
  'kubectl exec': kubectlExec,
  'kubectl delete': kubectlDelete,
  'kubectl annotate': async (words) => void (await run(words.slice(1))),
  'kubectl get': async (words) => {
    const text = await run(words.slice(1));
    if (words.includes('secret')) portalToken = text;
  },
  'kubectl port-forward': async (words) => {
    const [service = '', ports = ''] = words.slice(-2);
    const text = await run(['-n', namespace, 'get', service, '-o', 'json']);
    expect(JSON.parse(text)).toMatchObject({ spec: { ports: [{ port: Number(ports.split(':')[1]) }] } });
    const shown = await fetch(`http://127.0.0.1:${runningPod().port('portal')}/api/v1/requests`, {
      headers: { authorization: `Bearer ${portalToken}`, connection: 'close' },
    });
    expect([shown.status, await shown.json()]).toMatchObject([200, { data: [{ model: 'acme/chat' }] }]);
  },
};

/** `kubectl -n NAMESPACE apply …` is `kubectl apply`. */
const nameOf = ([program = '', ...words]: Words): string =>
  `${program} ${words[0] === '-n' ? (words[2] ?? '') : (words[0] ?? '')}`;

test.skipIf(podAddress === undefined)(
  'the commands of the tutorial lead to an answer that outlives its engine, and to its bill',
  async () => {
    for (const words of commands.filter(({ length }) => length > 0)) {
      const runner = runners[nameOf(words)];
      if (runner === undefined) throw new Error(`nothing runs \`${words.join(' ')}\``);
      await runner(words);
      // The answer that was cut is whole before its bill is read.
      if (words.includes('app=engine-a')) {
        const text = await wholeAnswer();
        expect(text).toMatch(/\n\ndata: \[DONE\]\n\n$/);
        expect(new Set(text.match(/chatcmpl-[\w-]+/g)).size).toBe(1);
        expect(text.match(/"finish_reason":"stop"/g)).toHaveLength(1);
      }
    }
    expect(printed.get('usage --by key')).toContain('caller');
    const rows: unknown = JSON.parse(printed.get('usage --requests --limit 1 --json') ?? '');
    expect(rows).toMatchObject([{ outcome: 'completed', attempts: 2, routes: 2 }]);
    expect(printed.has('ledger verify')).toBe(true);
  },
);

test('each block of the page is read', () => {
  expect(blocks.length).toBeGreaterThan(10);
  expect(page.match(/^```(?:sh|text)$/gm)?.length).toBe(blocks.length + shownBlocks);
});
