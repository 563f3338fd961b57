/** Secrets are read by name: rotated without a restart, and no other one is ever asked for. */
import { readFileSync } from 'node:fs';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { makeNamespace } from './support/cluster.ts';
import { objectsIn } from './support/objects.ts';
import { startTestReplica, type TestReplica } from './support/replica.ts';
import { kubeRequest } from './support/request.ts';

const kubernetes = inject('kubernetes');
let cluster: ReturnType<typeof objectsIn>;
let namespace: string;
let folder: string;
let replica: TestReplica | undefined;

beforeEach(async () => {
  namespace = await makeNamespace(kubernetes);
  cluster = objectsIn(kubernetes, namespace);
  folder = mkdtempSync(join(tmpdir(), 'weir-secrets-'));
});
afterEach(async () => {
  await replica?.close();
  rmSync(folder, { recursive: true });
});

const polling = { interval: 50 };
const authorization = (): string | undefined =>
  replica?.snapshot().models.get('test/good')?.routes[0]?.backend.headers?.[0]?.[1];

async function start(kubeconfig = kubernetes.kubeconfig): Promise<TestReplica> {
  replica = await startTestReplica({ kubeconfig, namespace, data: folder });
  return replica;
}

/** A kubeconfig of somebody who may do just this in the namespace. */
async function restrictedTo(rules: readonly object[]): Promise<string> {
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const name = 'restricted';
  const post = async (path: string, body: object): Promise<unknown> => {
    const answer = await kubeRequest(kubernetes, 'POST', path, { body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body;
  };
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await post(account, { metadata: { name } });
  await post(`${rbac}/roles`, { metadata: { name }, rules });
  await post(`${rbac}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
  const token = (await post(`${account}/${name}/token`, {
    ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  })) as { readonly status: { readonly token: string } };
  const config = JSON.parse(readFileSync(kubernetes.kubeconfig, 'utf8')) as object;
  const file = join(folder, 'kubeconfig');
  const users = [{ name: 'test', user: { token: token.status.token } }];
  writeFileSync(file, JSON.stringify({ ...config, users }), { mode: 0o600 });
  return file;
}

const catalogRules = [
  { apiGroups: ['weir.dev'], resources: ['models', 'backends'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: ['weir.dev'], resources: ['models/status', 'backends/status'], verbs: ['patch'] },
  {
    ...{ apiGroups: ['coordination.k8s.io'], resources: ['leases'] },
    verbs: ['get', 'list', 'create', 'update', 'patch', 'delete'],
  },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
];
const named = { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'], resourceNames: ['token'] };
const withToken = { credentials: { secretRef: { name: 'token', key: 'key' } } };

test('a rotated Secret is used from the next request on', async () => {
  await cluster.secret('token', { key: 'first' });
  await cluster.backend('vllm-a', withToken);
  await cluster.model('good');
  await start();
  expect(authorization()).toBe('Bearer first');
  await cluster.secret('token', { key: 'second' });
  await expect.poll(authorization, polling).toBe('Bearer second');
});

test('a Backend that names another Secret is served with that one, and the first is let go', async () => {
  await cluster.secret('token', { key: 'first' });
  await cluster.backend('vllm-a', withToken);
  await cluster.model('good');
  await start();
  await cluster.secret('another', { key: 'other' });
  await cluster.backend('vllm-a', { credentials: { secretRef: { name: 'another', key: 'key' } } });
  await expect.poll(authorization, polling).toBe('Bearer other');
  await cluster.secret('token', { key: 'nobody sees this' });
  await cluster.secret('another', { key: 'rotated' });
  await expect.poll(authorization, polling).toBe('Bearer rotated');
});

test('the authorities of a ConfigMap are used, and a new bundle from then on', async () => {
  const bundle = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
  const authorities = (): string | undefined => {
    const tls = replica?.snapshot().models.get('test/good')?.routes[0]?.backend.cluster.tls;
    return tls?.mode === 'Custom' ? tls.ca : undefined;
  };
  await cluster.backend('vllm-a', { tls: { mode: 'Custom', caConfigMapRef: { name: 'company', key: 'ca.crt' } } });
  await cluster.model('good');
  await start();
  await expect
    .poll(() => cluster.condition('backends', 'vllm-a', 'Accepted'), polling)
    .toMatch(/^False SecretNotUsable/);
  await cluster.configMap('company', { 'ca.crt': bundle('one'), other: 'x' });
  await expect.poll(authorities, polling).toBe(bundle('one'));
  await cluster.configMap('company', { 'ca.crt': bundle('two') });
  await expect.poll(authorities, polling).toBe(bundle('two'));
});

test('a role that names the Secrets is enough, and what no Backend refers to is not on disk either', async () => {
  await cluster.secret('token', { key: 'wanted', unwanted: 'not-for-us' });
  await cluster.secret('private', { key: 'never-asked-for' });
  await cluster.backend('vllm-a', withToken);
  await cluster.model('good');
  await start(await restrictedTo([...catalogRules, named]));
  expect(authorization()).toBe('Bearer wanted');
  await cluster.secret('token', { key: 'rotated', unwanted: 'not-for-us' });
  await expect.poll(authorization, polling).toBe('Bearer rotated');
  expect(replica?.log().join('\n')).not.toContain('watch failed');
  await expect.poll(() => cluster.condition('models', 'good', 'Servable'), polling).toBe('True RoutesReady');
  const kept = join(folder, 'catalog.json');
  await expect.poll(() => readFileSync(kept, 'utf8'), polling).toContain(btoa('rotated'));
  for (const value of ['not-for-us', 'never-asked-for']) expect(readFileSync(kept, 'utf8')).not.toContain(btoa(value));
  expect(statSync(kept).mode & 0o777).toBe(0o600);
});

test('a Secret that may not be read costs its Backend alone, and the log says why', async () => {
  await cluster.secret('token', { key: 'first' });
  await cluster.secret('forbidden', { key: 'x' });
  await cluster.backend('vllm-a', withToken);
  await cluster.backend('vllm-b', { credentials: { secretRef: { name: 'forbidden', key: 'key' } } });
  await cluster.model('good');
  await cluster.model('other', { routes: [{ backend: 'vllm-b', upstreamModel: 'm' }] });
  const { models, log } = await start(await restrictedTo([...catalogRules, named]));
  await expect.poll(models, polling).toEqual(['test/good']);
  expect(log().join('\n')).toContain('secrets/forbidden');
  expect(log().join('\n')).toContain('403');
  await expect
    .poll(() => cluster.condition('backends', 'vllm-b', 'Accepted'), polling)
    .toMatch(/^False SecretNotUsable: spec\.credentials\.secretRef\.name/);
});
