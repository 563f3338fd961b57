// @suite long
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startKubeApiServer } from './support/api-server.ts';
import { chart, helm } from './support/helm.ts';
import { kubectl } from './support/kubectl.ts';
import { type KubeAnswer, kubeRequest } from './support/request.ts';
import { forFile } from '../support/for-file.ts';

// One installation from its beginning to its end: each test goes on where the one before it stopped.

const namespace = 'weir-system';
const account = `system:serviceaccount:${namespace}:weir`;
const crdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const cluster = await forFile(startKubeApiServer());

interface Meta {
  readonly metadata: { readonly uid: string; readonly name: string; readonly resourceVersion: string };
}

const at = (...parameters: readonly string[]): readonly string[] => [...parameters, '--namespace', namespace];

async function run(...parameters: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await helm(at(...parameters), { kubeconfig: cluster.kubeconfig });
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

const get = (path: string): Promise<KubeAnswer> => kubeRequest(cluster, 'GET', path);
const ours = (kind: string): string => `/apis/weir.dev/v1alpha1/namespaces/${namespace}/${kind}`;

/** The chart with the CRD of Models changed as a later version might. */
function laterChart(): string {
  const copy = join(mkdtempSync(join(tmpdir(), 'weir-chart-')), 'weir');
  cpSync(chart, copy, { recursive: true });
  const file = join(copy, 'files', 'crds', 'models.yaml');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('shortNames:', 'shortNames:\n      - later'));
  return copy;
}

describe('helm install', () => {
  test('works on a fresh cluster, the kinds and an object of each included', async () => {
    const notes = await run('install', 'weir', chart, '--create-namespace', '--set', 'demo.enabled=true');
    expect(notes).toContain('kubectl -n weir-system exec statefulset/weir -c service -- weir workspace create acme');
    expect(await get(`${ours('models')}/weir-demo-engine`)).toMatchObject({
      status: 200,
      body: { spec: { id: 'demo/chat', routes: [{ backend: 'weir-demo-engine' }] } },
    });
    const backend = { spec: { service: { name: 'weir-demo-engine', port: 'http' } } };
    expect(await get(`${ours('backends')}/weir-demo-engine`)).toMatchObject({ status: 200, body: backend });
    expect(await get(`/apis/apps/v1/namespaces/${namespace}/statefulsets/weir`)).toMatchObject({ status: 200 });
  });

  test('says what to do next, and what it says to apply is taken', async () => {
    const notes = await run('install', 'other', chart, '--dry-run=server', '--set', 'crds.install=false');
    const [, heredoc = ''] = /<<'END'\n(.*?)\n +END/s.exec(notes) ?? [];
    const manifest = heredoc.replaceAll(/^ {3}/gm, '');
    const { code, stdout } = await kubectl(cluster, at('apply', '--dry-run=server', '-f', '-'), manifest);
    expect({ code, stdout: stdout.split('\n') }).toMatchObject({
      code: 0,
      stdout: [
        'backend.weir.dev/vllm-a created (server dry run)',
        'model.weir.dev/qwen3-8b created (server dry run)',
        '',
      ],
    });
  });

  test('a second release in the cluster is refused the kinds of the first, and works without them', async () => {
    const second = ['install', 'second', chart, '--namespace', 'default'];
    const options = { kubeconfig: cluster.kubeconfig };
    const { code, stderr } = await helm(second, options);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('"apikeys.weir.dev"') });
    expect(stderr).toContain('release-namespace" must equal "default": current value is "weir-system"');
    expect(await helm([...second, '--set', 'crds.install=false'], options)).toMatchObject({ code: 0 });
    expect(await helm(['uninstall', 'second', '--namespace', 'default'], options)).toMatchObject({ code: 0 });
  });
});

describe('the service account of the release', () => {
  /** The rows that this account has and any other has not. */
  async function rights(inside: string): Promise<readonly string[]> {
    const list = async (name: string): Promise<readonly string[]> => {
      const groups = ['system:authenticated', 'system:serviceaccounts'].flatMap((group) => ['--as-group', group]);
      const { stdout } = await kubectl(cluster, ['auth', 'can-i', '--list', '-n', inside, '--as', name, ...groups]);
      return stdout.split('\n').map((row) => row.trim().replaceAll(/ {2,}/g, ' | '));
    };
    const usual = await list('system:serviceaccount:default:nobody-in-particular');
    return (await list(account)).filter((row) => !usual.includes(row)).toSorted();
  }

  test('may do what the service does, in its namespace, and nothing else anywhere', async () => {
    expect(await rights(namespace)).toEqual([
      'backends.weir.dev | [] | [] | [get list watch]',
      'backends.weir.dev/status | [] | [] | [patch]',
      'configmaps | [] | [] | [get list watch]',
      'endpointslices.discovery.k8s.io | [] | [] | [get list watch]',
      'events.events.k8s.io | [] | [] | [create patch]',
      'leases.coordination.k8s.io | [] | [] | [get list create update patch delete]',
      'models.weir.dev | [] | [] | [get list watch patch]',
      'models.weir.dev/status | [] | [] | [patch]',
      'secrets | [] | [] | [get list watch]',
      'services | [] | [] | [get list watch]',
    ]);
    expect(await rights('default')).toEqual([]);
    expect(await rights('kube-system')).toEqual([]);
  });

  const asService = (method: string, path: string, body?: unknown): Promise<KubeAnswer> =>
    kubeRequest(cluster, method, path, {
      ...{ headers: { 'impersonate-user': account, 'impersonate-group': 'system:authenticated' } },
      ...(body === undefined ? {} : { body }),
      ...(method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {}),
    });

  const condition = { type: 'Accepted', status: 'True', reason: 'Valid', message: '', observedGeneration: 1 };
  const status = { status: { conditions: [{ ...condition, lastTransitionTime: '2026-06-01T00:00:00Z' }] } };
  const lease = { metadata: { name: 'weir-controller' }, spec: { holderIdentity: 'weir-0', leaseDurationSeconds: 15 } };
  const event = {
    ...{ metadata: { name: 'weir.1' }, eventTime: '2026-06-01T00:00:00.000000Z', action: 'Compile', reason: 'Bad' },
    ...{ type: 'Normal', reportingController: 'weir.dev/weir', reportingInstance: 'weir-0' },
    regarding: { kind: 'Model', namespace, name: 'weir-demo-engine', apiVersion: 'weir.dev/v1alpha1' },
  };
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const secrets = `/api/v1/namespaces/${namespace}/secrets`;
  const services = `/api/v1/namespaces/${namespace}/services`;
  const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;

  test.each<readonly [string, string, object]>([
    ['GET', ours('models'), {}],
    ['GET', ours('backends'), {}],
    ['GET', `${ours('models')}?watch=1&timeoutSeconds=1`, {}],
    ['PATCH', `${ours('models')}/weir-demo-engine`, { metadata: { finalizers: ['weir.dev/notice'] } }],
    ['PATCH', `${ours('models')}/weir-demo-engine`, { metadata: { finalizers: [] } }],
    ['PATCH', `${ours('models')}/weir-demo-engine/status`, status],
    ['PATCH', `${ours('backends')}/weir-demo-engine/status`, status],
    ['GET', `${secrets}?fieldSelector=metadata.name%3Dvllm-key`, {}],
    ['GET', `${secrets}?fieldSelector=metadata.name%3Dvllm-key&watch=1&timeoutSeconds=1`, {}],
    ['GET', slices, {}],
    ['GET', `${slices}?watch=1&timeoutSeconds=1`, {}],
    ['GET', services, {}],
    ['GET', `${services}?watch=1&timeoutSeconds=1`, {}],
    ['POST', leases, lease],
    ['PATCH', `${leases}/weir-controller`, { spec: { holderIdentity: 'weir-1' } }],
    ['GET', leases, {}],
    ['DELETE', `${leases}/weir-controller`, {}],
    ['POST', `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, event],
    [
      'PATCH',
      `/apis/events.k8s.io/v1/namespaces/${namespace}/events/weir.1`,
      { series: { count: 2, lastObservedTime: '2026-06-01T00:00:01.000000Z' } },
    ],
  ])('%s %s is done', async (method, path, body) => {
    const answer = await asService(method, path, method === 'GET' ? undefined : body);
    // With the object, so that a failure says why.
    expect(answer).toMatchObject({ status: method === 'POST' ? 201 : 200 });
  });

  test.each<readonly [string, string]>([
    ['DELETE', `${ours('models')}/weir-demo-engine`],
    ['POST', ours('models')],
    ['PATCH', `${ours('backends')}/weir-demo-engine`],
    ['GET', '/apis/weir.dev/v1alpha1/models'],
    ['GET', '/apis/weir.dev/v1alpha1/namespaces/default/models'],
    ['GET', '/api/v1/namespaces/default/secrets'],
    ['POST', secrets],
    ['POST', services],
    ['POST', slices],
    ['GET', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'],
    ['GET', `/api/v1/namespaces/${namespace}/pods`],
    ['POST', `/api/v1/namespaces/${namespace}/configmaps`],
    ['GET', '/api/v1/namespaces/default/configmaps'],
    ['POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`],
    ['GET', crdPath],
  ])('%s %s is forbidden', async (method, path) => {
    expect(await asService(method, path, method === 'GET' ? undefined : {})).toMatchObject({ status: 403 });
  });

  test('reads pods and InferencePools of its namespace with rbac.inferencePools, and nothing more', async () => {
    const before = await rights(namespace);
    await run('upgrade', 'weir', chart, '--set', 'demo.enabled=true,rbac.inferencePools=true');
    const added = (await rights(namespace)).filter((row) => !before.includes(row));
    expect(added).toEqual([
      'inferencepools.inference.networking.k8s.io | [] | [] | [get list watch]',
      'pods | [] | [] | [get list watch]',
    ]);
    expect(await rights('default')).toEqual([]);
  });

  test('reads only the Secrets that rbac.secretNames has, when it has any', async () => {
    await run('upgrade', 'weir', chart, '--set', 'demo.enabled=true,rbac.secretNames={vllm-key}');
    expect(await asService('GET', `${secrets}?fieldSelector=metadata.name%3Dvllm-key`)).toMatchObject({ status: 200 });
    expect(await asService('GET', `${secrets}?fieldSelector=metadata.name%3Dweir-urls`)).toMatchObject({ status: 403 });
    expect(await asService('GET', secrets)).toMatchObject({ status: 403 });
    expect(await asService('GET', `${secrets}/weir-urls`)).toMatchObject({ status: 403 });
  });
});

describe('helm upgrade', () => {
  test('brings the kinds up to date and leaves their objects as they are', async () => {
    const before = (await get(`${ours('models')}/weir-demo-engine`)).body as Meta;
    const later = laterChart();
    await run('upgrade', 'weir', later, '--set', 'demo.enabled=true,settings.logLevel=debug');
    rmSync(dirname(later), { recursive: true });
    expect(await get(`${crdPath}/models.weir.dev`)).toMatchObject({
      body: { spec: { names: { shortNames: expect.arrayContaining(['later']) } } },
    });
    const after = (await get(`${ours('models')}/weir-demo-engine`)).body as Meta;
    expect(after.metadata).toMatchObject({
      uid: before.metadata.uid,
      resourceVersion: before.metadata.resourceVersion,
    });
    const { body } = await get(`/apis/apps/v1/namespaces/${namespace}/statefulsets/weir`);
    expect(JSON.stringify(body)).toContain('{"name":"WEIR_LOG_LEVEL","value":"debug"}');
  });

  test('without the demo takes its Backend and Model away, and leaves those that are not of the chart', async () => {
    const others = ['model', 'backend'].map((kind) => `${kind}/mine`);
    const specs = await Promise.all(
      ['models', 'backends'].map(
        async (kind) => (await get(`${ours(kind)}/weir-demo-engine`)).body as { spec: object },
      ),
    );
    for (const [index, kind] of ['Model', 'Backend'].entries()) {
      const spec = { ...specs[index]?.spec, ...(kind === 'Model' ? { id: 'mine/model' } : {}) };
      const object = { apiVersion: 'weir.dev/v1alpha1', kind, metadata: { name: 'mine' }, spec };
      expect(await kubectl(cluster, at('apply', '-f', '-'), JSON.stringify(object))).toMatchObject({ code: 0 });
    }
    // The service keeps a Model with a finalizer until its notice has run, and that of the demo has a waiver.
    const demo = `${ours('models')}/weir-demo-engine`;
    const finalizers = (names: readonly string[]): Promise<KubeAnswer> =>
      kubeRequest(cluster, 'PATCH', demo, {
        ...{ body: { metadata: { finalizers: names } }, contentType: 'application/merge-patch+json' },
      });
    await finalizers(['weir.dev/notice']);
    const upgraded = run('upgrade', 'weir', chart, '--set', 'demo.enabled=false');
    await expect.poll(() => get(demo)).toMatchObject({ body: { metadata: { deletionTimestamp: expect.anything() } } });
    await finalizers([]);
    await upgraded;
    for (const kind of ['models', 'backends']) {
      expect(await get(`${ours(kind)}/weir-demo-engine`), kind).toMatchObject({ status: 404 });
      expect(await get(`${ours(kind)}/mine`), kind).toMatchObject({ status: 200 });
    }
    expect(await get(`/apis/apps/v1/namespaces/${namespace}/deployments/weir-demo-engine`)).toMatchObject({
      status: 404,
    });
    // Once more, with nothing left to take away, and then the demo comes back.
    await run('upgrade', 'weir', chart, '--set', 'demo.enabled=false');
    await run('upgrade', 'weir', chart, '--set', 'demo.enabled=true');
    for (const kind of ['models', 'backends']) {
      expect(await get(`${ours(kind)}/weir-demo-engine`), kind).toMatchObject({ status: 200 });
    }
    await kubectl(cluster, at('delete', ...others));
  });

  test('keeps what a person has added to an object of the release', async () => {
    await kubectl(cluster, at('label', 'service', 'weir', 'mine=yes'));
    await run('upgrade', 'weir', chart, '--set', 'demo.enabled=true');
    const { body } = await get(`/api/v1/namespaces/${namespace}/services/weir`);
    expect(body).toMatchObject({ metadata: { labels: { mine: 'yes' } } });
  });
});

describe('the portal', () => {
  interface Secret {
    readonly data: Readonly<Record<string, string>>;
  }

  test('gets a token once, which every upgrade keeps, and leaves with what it brought', async () => {
    const flags = ['--set', 'demo.enabled=true,portal.enabled=true'];
    const notes = await run('upgrade', 'weir', chart, ...flags);
    expect(notes).toContain('port-forward service/weir-portal 9091:9091');
    const tokenOf = async (): Promise<string> => {
      const { body } = await get(`/api/v1/namespaces/${namespace}/secrets/weir-portal`);
      return Buffer.from((body as Secret).data['token'] ?? '', 'base64').toString();
    };
    const token = await tokenOf();
    expect(token).toMatch(/^[A-Za-z0-9]{43}$/);
    await run('upgrade', 'weir', chart, ...flags, '--set', 'settings.logLevel=debug');
    expect(await tokenOf()).toBe(token);
    const { body } = await get(`/apis/apps/v1/namespaces/${namespace}/statefulsets/weir`);
    expect(JSON.stringify(body)).toContain('"name":"WEIR_ADMIN_TOKEN_FILE"');
    await run('upgrade', 'weir', chart, '--set', 'demo.enabled=true');
    expect(await get(`/api/v1/namespaces/${namespace}/services/weir-portal`)).toMatchObject({ status: 404 });
  });
});

describe('helm rollback', () => {
  const levelOf = async (): Promise<string> => {
    const { body } = await get(`/apis/apps/v1/namespaces/${namespace}/statefulsets/weir`);
    return /"WEIR_LOG_LEVEL","value":"(\w+)"/.exec(JSON.stringify(body))?.[1] ?? '';
  };

  test('brings back the settings of the release before, and keeps every object', async () => {
    await run('upgrade', 'weir', chart, '--set', 'demo.enabled=true');
    const before = await levelOf();
    await run('upgrade', 'weir', chart, '--set', 'demo.enabled=true', '--set', 'settings.logLevel=debug');
    expect([before, await levelOf()]).toEqual(['info', 'debug']);
    await run('rollback', 'weir');
    expect(await levelOf()).toBe('info');
    expect(await get(`${ours('models')}/weir-demo-engine`)).toMatchObject({ status: 200 });
  });
});

describe('helm uninstall', () => {
  test('takes what it brought, and leaves the kinds and their objects', async () => {
    await run('uninstall', 'weir');
    expect(await get(`/apis/apps/v1/namespaces/${namespace}/statefulsets/weir`)).toMatchObject({ status: 404 });
    expect(await get(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles/weir`)).toMatchObject({
      status: 404,
    });
    for (const file of readdirSync(join(chart, 'files', 'crds'))) {
      const name = `${file.replace('.yaml', '')}.weir.dev`;
      expect(await get(`${crdPath}/${name}`), name).toMatchObject({ status: 200 });
    }
    expect(await get(`${ours('models')}/weir-demo-engine`)).toMatchObject({ status: 200 });
  });

  test('and the same release can be installed again on what it left', async () => {
    await run('install', 'weir', chart, '--set', 'demo.enabled=true');
    expect(await get(`${ours('models')}/weir-demo-engine`)).toMatchObject({ status: 200 });
  });
});
