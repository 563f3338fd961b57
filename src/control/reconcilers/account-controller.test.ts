import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Refusal, refusal } from '../../books/core/operator-refusals.ts';
import type { AccountKind, AccountObject } from '../../books/core/declared-account.ts';
import { accountsFinalizer, startAccountController } from './account-controller.ts';
import type { DeclaredAccounts } from './store-port.ts';

const workspace = { id: 'ws_1', name: 'a', status: 'active' };

/** A controller whose ledger takes every Workspace at once that is not in `refused`, and has no other account. */
function begin() {
  const clock = createFakeClock();
  const objects = new Map<string, AccountObject>();
  const keyOf = (kind: string, namespace: string, name: string): string => `${kind}/${namespace}/${name}`;
  const put = (kind: AccountKind, name: string, change: Partial<AccountObject> = {}, spec: object = {}) => {
    const namespace = change.namespace ?? 'team';
    const object: AccountObject = {
      ...{ kind, namespace, name, uid: `uid-${name}`, generation: 1, resourceVersion: '1' },
      ...{ finalizers: [accountsFinalizer], annotations: {}, status: undefined },
      declared: { where: name, value: { apiVersion: 'weir.dev/v1alpha1', kind, metadata: { name }, spec } },
      ...change,
    };
    objects.set(keyOf(kind, namespace, name), object);
    return object;
  };
  let listings = 0;
  const declared: string[] = [];
  const asked: string[] = [];
  const refused = new Map<string, Refusal>();
  const store = {
    declareWorkspace: ({ name }: { readonly name: string }) => {
      declared.push(name);
      const refusal = refused.get(name);
      return refusal === undefined ? Promise.resolve({ workspace, isNew: true }) : Promise.reject(refusal);
    },
    accountFigures: () => Promise.resolve({ workspaces: new Map(), keys: new Map() }),
    declaredWorkspace: ({ name }: { readonly name: string }) => {
      asked.push(name);
      return Promise.resolve(undefined);
    },
    unlockAbsent: () => Promise.resolve(0),
  };
  const statuses: object[] = [];
  const faulty: Parameters<typeof startAccountController>[0]['faulty'] = new Map();
  const controller = startAccountController({
    ...{ clock, namespace: 'own', namespaces: ['own', 'team'], isLeading: () => true, isGoneOrChanged: () => false },
    followed: {
      objects: () => {
        listings += 1;
        return [...objects.values()];
      },
      find: (kind, { namespace, name }) => objects.get(keyOf(kind, namespace, name)),
      isListed: () => true,
    },
    store: store as unknown as DeclaredAccounts,
    secrets: {
      read: () => expect.unreachable(),
      create: () => expect.unreachable(),
      replace: () => expect.unreachable(),
    },
    keyTexts: { make: () => '', hash: () => '', prefix: () => '', isWellFormed: () => true },
    ...{ checkIdentity: async () => undefined, faulty },
    writerOf: () => ({
      status: (_, status) => {
        statuses.push(status);
        return Promise.resolve();
      },
      finalizers: () => Promise.resolve(),
      event: () => undefined,
    }),
    onError: (error) => expect.unreachable(String(error)),
  });
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) {
      clock.advance(20);
      for (let step = 0; step < 100; step += 1) await Promise.resolve();
    }
  };
  const remove = (object: AccountObject) => objects.delete(keyOf(object.kind, object.namespace, object.name));
  return { clock, controller, put, remove, settled, declared, asked, refused, statuses, listings: () => listings };
}

it('looks at the objects that have changed, and not at all of them', async () => {
  const { controller, put, settled, declared, listings } = begin();
  for (let index = 0; index < 100; index += 1) put('Workspace', `w-${index}`);
  const before = listings();
  controller.changed([put('Workspace', 'w-7', { generation: 2 })]);
  await settled();
  expect(declared).toEqual(['w-7']);
  expect(listings()).toBe(before);
  // The twin: without a list of them, all are compared.
  controller.changed();
  await settled();
  expect(listings()).toBe(before + 1);
  expect(declared).toHaveLength(100);
  await controller.close();
});

it('is done with an object that leaves and that another finalizer keeps for ever', async () => {
  const { clock, controller, put, settled, declared, statuses } = begin();
  const kept = put('Workspace', 'kept', { deletedAt: '2026-01-01T00:00:00Z', finalizers: ['stranger.example/never'] });
  for (let minute = 0; minute < 5; minute += 1) {
    controller.changed([kept]);
    clock.advance(60_000);
    await settled();
  }
  expect([declared, statuses]).toEqual([[], []]);
  // Its neighbours are not held up.
  controller.changed([put('Workspace', 'neighbour')]);
  await settled();
  expect(declared).toEqual(['neighbour']);
  await controller.close();
});

it('forgets a key that waits for its Workspace when it is gone', async () => {
  const { clock, controller, put, remove, settled } = begin();
  await settled();
  const idle = clock.armed();
  const names = [...Array(50).keys()].map((index) => `key-${index}`);
  const spec = { workspace: 'none', secretRef: { name: 'x' } };
  const keys = names.map((name) => put('ApiKey', name, {}, spec));
  controller.changed(keys);
  await settled();
  expect(clock.armed()).toBe(idle + names.length);
  for (const key of keys) remove(key);
  controller.changed(keys);
  await settled();
  expect(clock.armed()).toBe(idle);
  await controller.close();
});

it('wakes the keys of a Workspace when it comes, and no others', async () => {
  const { controller, put, settled, asked } = begin();
  const keysOf = (name: string) => put('ApiKey', `key-of-${name}`, {}, { workspace: name, secretRef: { name: 'x' } });
  controller.changed([keysOf('search'), keysOf('support')]);
  await settled();
  expect(asked).toEqual([]);
  controller.changed([put('Workspace', 'search')]);
  await settled();
  expect(asked).toEqual(['search']);
  await controller.close();
});

it('says of a Workspace whether its name is taken or its namespace is full', async () => {
  const { controller, put, refused, settled, statuses } = begin();
  refused.set('twin', refusal('workspace_exists', { name: 'twin' }));
  refused.set(
    'beyond',
    refusal(
      'list_full',
      { list: 'A namespace', max: 1, entries: 'workspaces', remedy: 'Remove one.' },
      { field: 'namespace' },
    ),
  );
  controller.changed(['twin', 'beyond'].map((name) => put('Workspace', name)));
  await settled();
  const accepted = { type: 'Accepted', status: 'False' };
  const conditions = (condition: object) => ({
    conditions: expect.arrayContaining([expect.objectContaining(condition)]),
  });
  expect(statuses).toMatchObject([
    conditions({
      ...{ ...accepted, reason: 'NameTaken' },
      message: expect.stringMatching(
        /^metadata\.name: There is already a workspace named "twin"\. Give the object another name/,
      ),
    }),
    conditions({
      ...accepted,
      reason: 'Refused',
      message: 'metadata.namespace: A namespace has at most 1 workspaces. Remove one.',
    }),
  ]);
  await controller.close();
});
