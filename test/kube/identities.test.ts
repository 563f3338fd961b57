// @suite long
/** Tokens of a real API server let in whom an Identity of the cluster names. */
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { databaseLocation } from '../../src/books/databases/database-location.ts';
import type { TokenFault } from '../../src/core/identity.ts';
import { openTokens } from '../../src/programs/serve/open-tokens.ts';
import { readSettings } from '../../src/process/settings/read-settings.ts';
import { type DeclaredAccounts, startDeclaredAccounts } from './support/declared-accounts.ts';
import { makeNamespace } from './support/cluster.ts';
import { kubeRequest } from './support/request.ts';

const kubernetes = inject('kubernetes');
let accounts: DeclaredAccounts;
let tokens: NonNullable<Awaited<ReturnType<typeof openTokens>>>;
let faults: TokenFault[];

beforeEach(async () => {
  accounts = await startDeclaredAccounts(kubernetes, () => 0);
  faults = [];
  const { namespace, ledger, cluster } = accounts;
  const settings = readSettings({
    ...{ WEIR_DATA: ledger.data, WEIR_KUBERNETES_NAMESPACE: namespace, WEIR_IDENTITIES: 'on' },
  });
  const noted = (facts: object): void => {
    if ('fault' in facts) faults.push(facts.fault as TokenFault);
  };
  const opened = await openTokens(settings, {
    location: databaseLocation({ data: ledger.data }),
    log: { info: noted, warn: noted, error: noted },
    report: { failed: () => undefined, succeeded: () => undefined },
    environment: { KUBECONFIG: kubernetes.kubeconfig },
  });
  if (opened === undefined) throw new Error('identities are off');
  tokens = opened;
  await cluster.workspace('search-team');
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

async function declare(spec: object): Promise<void> {
  const { cluster, namespace } = accounts;
  await cluster.identity('workloads', {
    ...{ issuer: 'cluster', audience: 'weir', workspace: 'search-team' },
    match: [`claims["kubernetes.io"].namespace == "${namespace}"`],
    ...spec,
  });
  await expect
    .poll(() => cluster.condition('identities', 'workloads', 'Ready'), { interval: 50 })
    .toMatch(/^True Ready/);
}

const nameOf = async (token: string): Promise<string | undefined> => {
  const found = await tokens.tokens.find(token);
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
  expect(await tokens.tokens.find(await indexer.token('another'))).toBeUndefined();
  const other = await serviceAccount('indexer', await makeNamespace(kubernetes));
  expect(await tokens.tokens.find(await other.token())).toBeUndefined();
  expect(faults).toEqual(['other-audience', 'no-identity']);
});

test('the token of a ServiceAccount that is gone lets nobody in if its identity is bound', async () => {
  await declare({ bound: true });
  const [leaving, staying] = [await serviceAccount('leaving'), await serviceAccount('staying')];
  const [token, spare, good] = [await leaving.token(), await leaving.token(), await staying.token()];
  expect(await tokens.tokens.find(token)).toBeDefined();
  await leaving.remove();
  expect(await tokens.tokens.find(spare)).toBeUndefined();
  expect(await tokens.tokens.find(good)).toBeDefined();
  expect(faults).toEqual(['not-bound']);
});

test('rules of an Identity that cannot be read are named, and one that is deleted lets nobody in', async () => {
  const { cluster } = accounts;
  await declare({});
  const indexer = await serviceAccount('indexer');
  const token = await indexer.token();
  expect(await tokens.tokens.find(token)).toBeDefined();
  await cluster.identity('workloads', {
    ...{ issuer: 'cluster', audience: 'weir', workspace: 'search-team', match: ['claims.sub =='] },
  });
  await expect
    .poll(() => cluster.condition('identities', 'workloads', 'Accepted'), { interval: 50 })
    .toMatch(/^False Invalid: spec\.match: "claims\.sub ==": /);
  expect(await tokens.tokens.find(token)).toBeDefined();
  await cluster.remove('identities', 'workloads');
  await expect.poll(async () => tokens.tokens.find(token), { interval: 100 }).toBeUndefined();
});
