// @suite long
/** Accounts of several namespaces, as users who may write in one of them alone. */
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { makeNamespace } from './support/cluster.ts';
import { openTestLedger, type TestLedger } from '../support/test-ledger.ts';
import { objectsIn } from './support/objects.ts';
import { startTestReplica, type TestReplica } from './support/replica.ts';
import { type KubeAnswer, kubeRequest } from './support/request.ts';

const kubernetes = inject('kubernetes');
const polling = { interval: 50 };
let [own, teamA, teamB]: [string, string, string] = ['', '', ''];
let ledger: TestLedger;
let replica: TestReplica;

beforeEach(async () => {
  own = await makeNamespace(kubernetes);
  teamA = await makeNamespace(kubernetes);
  teamB = await makeNamespace(kubernetes);
  ledger = await openTestLedger();
  const accounts = { data: ledger.data, namespaces: [teamA, teamB] };
  replica = await startTestReplica({ kubeconfig: kubernetes.kubeconfig, namespace: own, accounts });
});
afterEach(async () => {
  await replica.close();
  await ledger.close();
});

/** Lets a user write accounts in one namespace, and returns what this user does. */
async function userOf(namespace: string) {
  const user = `user-of-${namespace}`;
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const rules = [{ apiGroups: ['weir.dev'], resources: ['*'], verbs: ['*'] }];
  const made = [
    await kubeRequest(kubernetes, 'POST', `${rbac}/roles`, { body: { metadata: { name: 'team' }, rules } }),
    await kubeRequest(kubernetes, 'POST', `${rbac}/rolebindings`, {
      body: {
        metadata: { name: 'team' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'team' },
        subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
      },
    }),
  ];
  expect(made.map(({ status }) => status)).toEqual([201, 201]);
  const ask = (method: string, path: string, body?: object): Promise<KubeAnswer> =>
    kubeRequest(kubernetes, method, `/apis/weir.dev/v1alpha1/namespaces/${path}`, {
      body,
      headers: { 'impersonate-user': user },
    });
  const make = (place: string, kind: string, name: string, spec: object): Promise<KubeAnswer> =>
    ask('POST', `${place}/${kind.toLowerCase()}s`, { apiVersion: 'weir.dev/v1alpha1', kind, metadata: { name }, spec });
  return { ask, make };
}

test('a user of one namespace neither reads nor spends for a Workspace of another', async () => {
  const [inA, inB] = [objectsIn(kubernetes, teamA), objectsIn(kubernetes, teamB)];
  await inB.workspace('search');
  await inB.credit('order-8', 'search', { usd: '25', note: 'order 8' });
  await expect.poll(() => inB.condition('credits', 'order-8', 'Booked'), polling).toMatch(/^True/);
  const user = await userOf(teamA);

  expect((await user.ask('GET', `${teamB}/workspaces/search`)).status).toBe(403);
  expect((await user.make(teamB, 'ApiKey', 'mine', { workspace: 'search', secretRef: { name: 'mine' } })).status).toBe(
    403,
  );
  // By the name in the ledger: refused by the rule of the field.
  const byLedgerName = { workspace: `${teamB}_search`, secretRef: { name: 'mine' } };
  expect(await user.make(teamA, 'ApiKey', 'mine', byLedgerName)).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('expected the name of a Workspace in the namespace of this object') },
  });
  // By the same name: there is none in the user's own namespace.
  expect((await user.make(teamA, 'ApiKey', 'mine', { workspace: 'search', secretRef: { name: 'mine' } })).status).toBe(
    201,
  );
  await expect
    .poll(() => inA.condition('apikeys', 'mine', 'Accepted'), polling)
    .toBe(
      `False WorkspaceNotFound: spec.workspace: expected a Workspace in namespace "${teamA}", there is none named "search"`,
    );
  expect(await inA.secretText('mine')).toBeUndefined();
  const taken = { workspace: 'search', usd: '-5', note: 'mine' };
  expect((await user.make(teamA, 'Credit', 'mine', taken)).status).toBe(201);
  await expect.poll(() => inA.condition('credits', 'mine', 'Booked'), polling).toMatch(/^False NotAccepted/);
  expect(await ledger.balanceOf(`${teamB}_search`)).toBe(25n * 10n ** 12n);
});

test('Workspaces of one name in three namespaces are three accounts', async () => {
  for (const namespace of [own, teamA, teamB]) await objectsIn(kubernetes, namespace).workspace('search');
  for (const namespace of [own, teamA, teamB]) {
    const cluster = objectsIn(kubernetes, namespace);
    await expect.poll(() => cluster.condition('workspaces', 'search', 'Ready'), polling).toBe('True Ready');
  }
  const names = (await ledger.accounts.listWorkspaces()).map(({ name }) => name);
  expect(names.toSorted()).toEqual(['search', `${teamA}_search`, `${teamB}_search`].toSorted());
});
