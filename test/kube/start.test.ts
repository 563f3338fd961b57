// @suite long
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { stringify } from 'yaml';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { backend, model } from '../support/catalog-objects.ts';
import { type KubeApiServer, type KubeConnection, startKubeApiServer } from './support/api-server.ts';
import { installCrds, makeNamespace } from './support/cluster.ts';
import { kubectl, type KubectlEnd } from './support/kubectl.ts';
import { chat, newDataFolder, removeStarts, runStart, start, type Started } from '../support/start.ts';

// `weir start --kubernetes`, as a person at a terminal has it: kubectl on one side, a caller on the other.

const kubernetes = inject('kubernetes');
let engine: ProgrammableEngine | undefined;
let own: KubeApiServer | undefined;

afterEach(async () => {
  await removeStarts();
  await engine?.close();
  await own?.close();
  [engine, own] = [undefined, undefined];
});

const inCluster = ({ kubeconfig }: KubeConnection, namespace: string, data?: string): Promise<Started> =>
  start(['--kubernetes', '--namespace', namespace], { env: { KUBECONFIG: kubeconfig }, ...(data && { data }) });

async function apply(
  to: KubeConnection,
  namespace: string,
  ...objects: readonly { value: unknown }[]
): Promise<KubectlEnd> {
  const text = objects.map(({ value }) => stringify(value, { version: '1.1' })).join('---\n');
  const end = await kubectl(to, ['apply', '-n', namespace, '-f', '-'], text);
  expect(end).toMatchObject({ code: 0, stderr: '' });
  return end;
}

const route = { backend: 'demo', upstreamModel: 'm' };

async function demoBackend(): Promise<ReturnType<typeof backend>> {
  engine = await startProgrammableEngine({ models: ['m'] });
  return backend('demo', { endpoint: { host: '127.0.0.1', port: Number(new URL(engine.url).port) } });
}

async function status(gateway: Started, id: string): Promise<number> {
  const answer = await chat(gateway, { model: id });
  await answer.arrayBuffer();
  return answer.status;
}

/** Waits with kubectl, as a script would. */
const conditionMet = (namespace: string, object: string, condition: string): Promise<KubectlEnd> =>
  kubectl(kubernetes, ['wait', '-n', namespace, object, `--for=condition=${condition}`, '--timeout=60s']);

test('serves a namespace: a Model that is applied answers, and kubectl says so', async () => {
  const namespace = await makeNamespace(kubernetes);
  await apply(kubernetes, namespace, await demoBackend(), model('one', { id: 'in/one', routes: [route] }));
  const gateway = await inCluster(kubernetes, namespace);
  expect(gateway.stdout()).toContain('in/one');
  expect(await status(gateway, 'in/one')).toBe(200);

  await apply(kubernetes, namespace, model('two', { id: 'in/two', routes: [route] }));
  await expect.poll(() => status(gateway, 'in/two'), { interval: 50 }).toBe(200);

  expect(await conditionMet(namespace, 'model/two', 'Listed')).toMatchObject({ code: 0 });
  expect(await conditionMet(namespace, 'backend/demo', 'Programmed')).toMatchObject({ code: 0 });
  const { stdout } = await kubectl(kubernetes, ['get', 'models', '-n', namespace, '--no-headers']);
  expect(stdout).toMatch(/^two +in\/two +True +1\/1 /m);
});

test('looks into the namespace of the current context when none is named', async () => {
  const namespace = await makeNamespace(kubernetes);
  await apply(kubernetes, namespace, await demoBackend(), model('one', { id: 'context/one', routes: [route] }));
  const { stdout } = await kubectl(kubernetes, ['config', 'view', '--raw', '-o', 'json']);
  const config = JSON.parse(stdout) as { contexts: { context: object }[] };
  const contexts = config.contexts.map((one) => ({ ...one, context: { ...one.context, namespace } }));
  const kubeconfig = join(newDataFolder(), 'config');
  writeFileSync(kubeconfig, JSON.stringify({ ...config, contexts }));
  const gateway = await start(['--kubernetes'], { env: { KUBECONFIG: kubeconfig } });
  expect(await status(gateway, 'context/one')).toBe(200);
});

test('starts without the API server on the catalog that it had last', async () => {
  own = await startKubeApiServer();
  await installCrds(own);
  await apply(own, 'default', await demoBackend(), model('one', { id: 'kept/one', routes: [route] }));
  const first = await inCluster(own, 'default');
  expect(await status(first, 'kept/one')).toBe(200);
  await first.stop();
  await own.kill();

  const second = await inCluster(own, 'default', first.data);
  expect(second.stderr()).toContain('Weir serves its last catalog until it is back.');
  expect(await status(second, 'kept/one')).toBe(200);

  await own.start();
  await apply(own, 'default', model('two', { id: 'kept/two', routes: [route] }));
  await expect.poll(() => status(second, 'kept/two'), { interval: 100 }).toBe(200);
});

describe('is refused with a sentence', () => {
  const refusal = async (args: readonly string[], kubeconfig: string): Promise<string> => {
    const { ended } = runStart(args, { env: { KUBECONFIG: kubeconfig } });
    const { code, stdout, stderr } = await ended;
    expect({ code, stdout }).toEqual({ code: expect.any(Number) as unknown, stdout: '' });
    expect(code).toBeGreaterThan(0);
    expect(stderr).not.toMatch(/^\s+at /m);
    return stderr;
  };

  test('where the definitions are not installed', async () => {
    own = await startKubeApiServer();
    const [, path = 'no command'] =
      /`kubectl apply -f (\S+)`/.exec(await refusal(['--kubernetes'], own.kubeconfig)) ?? [];
    // What it tells to do, helps.
    expect(await kubectl(own, ['apply', '-f', path])).toMatchObject({ code: 0, stderr: '' });
    expect((await kubectl(own, ['wait', '--for=create', 'crd/models.weir.dev', '--timeout=60s'])).code).toBe(0);
  });

  test('where nobody answers and nothing was kept', async () => {
    own = await startKubeApiServer();
    await own.kill();
    expect(await refusal(['--kubernetes'], own.kubeconfig)).toContain(own.url);
  });

  test('where the kubeconfig is not there', async () => {
    expect(await refusal(['--kubernetes'], '/nowhere/config')).toContain('/nowhere/config');
  });

  test('where the user may not look', async () => {
    const { stdout } = await kubectl(kubernetes, ['config', 'view', '--raw', '-o', 'json']);
    const config = JSON.parse(stdout) as { users: { name: string }[] };
    const users = config.users.map(({ name }) => ({ name, user: { token: 'of nobody' } }));
    const kubeconfig = join(newDataFolder(), 'config');
    writeFileSync(kubeconfig, JSON.stringify({ ...config, users }));
    expect(await refusal(['--kubernetes'], kubeconfig)).toMatch(/Unauthorized/);
  });

  test.each([[['--kubernetes', '--manifests', 'x']], [['--namespace', 'x']]])(
    'where the options %j do not go together',
    async (args) => {
      expect(await refusal(args, kubernetes.kubeconfig)).toMatch(/--(kubernetes|namespace)/);
    },
  );
});
