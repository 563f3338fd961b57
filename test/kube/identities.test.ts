// @suite long
/** Tokens of a real API server let in whom an Identity of the cluster names. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { databaseLocation } from '../../src/books/databases/database-location.ts';
import type { TokenFault } from '../../src/core/identity.ts';
import { openTokens } from '../../src/programs/serve/open-tokens.ts';
import { readSettings } from '../../src/process/settings/read-settings.ts';
import { type DeclaredAccounts, startDeclaredAccounts } from './support/declared-accounts.ts';
import { makeNamespace } from './support/cluster.ts';
import { kubectl } from './support/kubectl.ts';
import { kubeRequest } from './support/request.ts';

const kubernetes = inject('kubernetes');
let accounts: DeclaredAccounts;
let opened: ReturnType<typeof openTokens>;
let tokens: Awaited<typeof opened>;
let faults: TokenFault[];

/** Opens tokens as a service does that has these settings, with the rights of a kubeconfig. */
function open(env: Readonly<Record<string, string>> = {}, kubeconfig = kubernetes.kubeconfig): typeof opened {
  const { namespace, ledger } = accounts;
  const settings = readSettings({
    ...{ WEIR_DATA: ledger.data, WEIR_KUBERNETES_NAMESPACE: namespace, WEIR_IDENTITIES: 'on', ...env },
  });
  const noted = (facts: object): void => {
    if ('fault' in facts) faults.push(facts.fault as TokenFault);
  };
  return openTokens(settings, {
    location: databaseLocation({ data: ledger.data }),
    log: { info: noted, warn: noted, error: noted },
    report: { failed: () => undefined, succeeded: () => undefined },
    environment: { KUBECONFIG: kubeconfig },
  });
}

beforeEach(async () => {
  let isOpen = (): void => undefined;
  const ready = new Promise<void>((resolve) => (isOpen = resolve));
  accounts = await startDeclaredAccounts(
    kubernetes,
    () => 0,
    async (identity) => {
      await ready;
      return tokens.check(identity);
    },
  );
  faults = [];
  opened = open();
  tokens = await opened;
  isOpen();
  await accounts.cluster.workspace('search-team');
});
afterEach(async () => {
  await tokens.close();
  await accounts.close();
});

async function ask(
  method: string,
  path: string,
  body?: object,
): Promise<{ readonly status?: { readonly token?: string } }> {
  const answer = await kubeRequest(kubernetes, method, path, body === undefined ? {} : { body });
  expect(answer.status).toBeLessThan(300);
  return answer.body as { readonly status?: { readonly token?: string } };
}

/** A ServiceAccount, which the API server gives tokens. */
async function serviceAccount(name: string, namespace = accounts.namespace) {
  const all = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await ask('POST', all, { metadata: { name } });
  return {
    token: async (audience = 'weir'): Promise<string> => {
      const spec = { audiences: [audience], expirationSeconds: 600 };
      return (await ask('POST', `${all}/${name}/token`, { spec })).status?.token ?? '';
    },
    remove: () => ask('DELETE', `${all}/${name}`),
  };
}

async function apply(spec: object): Promise<void> {
  const { cluster, namespace } = accounts;
  await cluster.identity('workloads', {
    ...{ issuer: 'cluster', audience: 'weir', workspace: 'search-team' },
    match: [`claims["kubernetes.io"].namespace == "${namespace}"`],
    ...spec,
  });
}

const readyCondition = () => accounts.cluster.condition('identities', 'workloads', 'Ready');

async function declare(spec: object): Promise<void> {
  await apply(spec);
  await expect.poll(readyCondition, { interval: 50 }).toMatch(/^True Ready/);
}

const nameOf = async (token: string): Promise<string | undefined> => {
  const found = await tokens.tokens?.find(token);
  const keys = await accounts.ledger.accounts.listKeys();
  return found && keys.length > 0 ? found.tags['account'] : undefined;
};

test('a thousand requests with tokens that are issued again and again are let in, and others are not', async () => {
  await declare({ tags: { account: 'claims["kubernetes.io"].serviceaccount.name' } });
  const indexer = await serviceAccount('indexer');
  let token = '';
  for (let request = 0; request < 1_000; request += 1) {
    if (request % 100 === 0) token = await indexer.token();
    expect(await nameOf(token)).toBe('indexer');
  }
  expect(faults).toEqual([]);
  expect(await tokens.tokens?.find(await indexer.token('another'))).toBeUndefined();
  const other = await serviceAccount('indexer', await makeNamespace(kubernetes));
  expect(await tokens.tokens?.find(await other.token())).toBeUndefined();
  expect(faults).toEqual(['other-audience', 'no-identity']);
});

test('the token of a ServiceAccount that is gone lets nobody in if its identity is bound', async () => {
  await declare({ bound: true });
  const [leaving, staying] = [await serviceAccount('leaving'), await serviceAccount('staying')];
  const [token, spare, good] = [await leaving.token(), await leaving.token(), await staying.token()];
  expect(await tokens.tokens?.find(token)).toBeDefined();
  await leaving.remove();
  expect(await tokens.tokens?.find(spare)).toBeUndefined();
  expect(await tokens.tokens?.find(good)).toBeDefined();
  expect(faults).toEqual(['not-bound']);
});

test('rules of an Identity that cannot be read are named, and one that is deleted lets nobody in', async () => {
  const { cluster } = accounts;
  await declare({});
  const indexer = await serviceAccount('indexer');
  const token = await indexer.token();
  expect(await tokens.tokens?.find(token)).toBeDefined();
  await cluster.identity('workloads', {
    ...{ issuer: 'cluster', audience: 'weir', workspace: 'search-team', match: ['claims.sub =='] },
  });
  await expect
    .poll(() => cluster.condition('identities', 'workloads', 'Accepted'), { interval: 50 })
    .toMatch(/^False Invalid: spec\.match: "claims\.sub ==": /);
  expect(await tokens.tokens?.find(token)).toBeDefined();
  await cluster.remove('identities', 'workloads');
  await expect.poll(async () => tokens.tokens?.find(token), { interval: 100 }).toBeUndefined();
});

/** Opens tokens again, as another service does. */
async function reopen(...how: Parameters<typeof open>): Promise<void> {
  await tokens.close();
  tokens = await open(...how);
}

test('an Identity says that tokens are off', async () => {
  await reopen({ WEIR_IDENTITIES: 'off' });
  await apply({});
  await expect.poll(readyCondition, { interval: 50 }).toMatch(/^False IdentitiesOff: WEIR_IDENTITIES is off/);
});

test('an Identity says that its issuer cannot be read, before its first token comes', async () => {
  const issuer = 'https://127.0.0.1:9/nowhere';
  await apply({ issuer });
  await expect
    .poll(readyCondition, { interval: 50 })
    .toMatch(/^False IssuerNotRead: spec\.issuer: https:\/\/127\.0\.0\.1:9\/nowhere .*ECONNREFUSED/);
  await declare({});
});

test('a bound Identity says that the service has no right to reviews, and is ready when it has', async () => {
  const { namespace } = accounts;
  const weir = await serviceAccount('weir');
  const { stdout } = await kubectl(kubernetes, ['config', 'view', '--raw', '-o', 'json']);
  const config = JSON.parse(stdout) as { readonly users: readonly { readonly name: string }[] };
  const token = await weir.token('https://kubernetes.default.svc');
  const kubeconfig = join(accounts.ledger.data, 'kubeconfig');
  writeFileSync(
    kubeconfig,
    JSON.stringify({ ...config, users: config.users.map(({ name }) => ({ name, user: { token } })) }),
  );
  await reopen({}, kubeconfig);
  await apply({ bound: true });
  await expect
    .poll(readyCondition, { interval: 50 })
    .toMatch(/^False TokenReviewRefused: spec\.bound: .*rbac\.tokenReviews: true.*cannot create resource/);
  const name = `reviews-${namespace}`;
  const group = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  await ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name },
    rules: [{ apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] }],
  });
  await ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name },
    ...{ roleRef: group, subjects: [{ kind: 'ServiceAccount', name: 'weir', namespace }] },
  });
  await declare({ bound: true });
});
