// @suite long
/** What objects declare over restores, crashes and changes of the leader, and many at once. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { type KubeApiServer, startKubeApiServer } from './support/api-server.ts';
import { installCrds, makeNamespace } from './support/cluster.ts';
import { openTestLedger, type TestLedger } from '../support/test-ledger.ts';
import { objectsIn } from './support/objects.ts';
import { startTestReplica } from './support/replica.ts';

const kubernetes = inject('kubernetes');
const usd = 10n ** 12n;
let ledger: TestLedger;
const ending: (() => Promise<void>)[] = [];

beforeEach(async () => {
  ledger = await openTestLedger();
  ending.push(ledger.close);
});
afterEach(async () => {
  for (const end of ending.splice(0).toReversed()) await end();
});

const polling = { interval: 100 };

async function startOn(kubeconfig: string, namespace: string): Promise<() => Promise<void>> {
  const replica = await startTestReplica({ kubeconfig, namespace, accounts: ledger });
  return replica.close;
}

type Cluster = ReturnType<typeof objectsIn>;

async function readyOf(cluster: Cluster, plural: 'apikeys' | 'credits', type: string): Promise<readonly string[]> {
  const objects = await cluster.list(plural);
  return objects.flatMap(({ metadata, status }) =>
    status?.conditions?.some((one) => one.type === type && one.status === 'True') === true ? [metadata.name] : [],
  );
}

/** Keys of a workspace that work. */
async function workingKeys(workspace: string): Promise<number> {
  const keys = await ledger.accounts.listKeys(await ledger.accounts.findWorkspace(workspace));
  return keys.filter(({ status }) => status !== 'revoked').length;
}

test.each([
  ['stopped meanwhile', true],
  ['goes on', false],
])(
  'the cluster’s objects of yesterday book no Credit twice and revive no revoked key, with a gateway that %s',
  async (_, hasStopped) => {
    const server: KubeApiServer = await startKubeApiServer();
    ending.push(server.close);
    await installCrds(server);
    const namespace = await makeNamespace(server);
    const cluster = objectsIn(server, namespace);
    const closeFirst = await startOn(server.kubeconfig, namespace);
    await cluster.workspace('team');
    await cluster.credit('order-8', 'team', { usd: '25', note: 'order 8' });
    await cluster.apiKey('goes', 'team');
    await cluster.apiKey('changes', 'team');
    await expect.poll(() => readyOf(cluster, 'apikeys', 'Ready'), polling).toEqual(['changes', 'goes']);
    await expect.poll(() => readyOf(cluster, 'credits', 'Booked'), polling).toEqual(['order-8']);
    const revoked = await cluster.secretText('goes');
    const replaced = await cluster.secretText('changes');
    await closeFirst();
    await server.backUp();

    const closeSecond = await startOn(server.kubeconfig, namespace);
    await cluster.credit('order-9', 'team', { usd: '10', note: 'order 9' });
    await expect.poll(() => readyOf(cluster, 'credits', 'Booked'), polling).toEqual(['order-8', 'order-9']);
    await cluster.remove('apikeys', 'goes');
    await expect.poll(() => ledger.stateOf(revoked), polling).toBe('revoked');
    await cluster.remove('secrets', 'changes');
    await cluster.touch('apikeys', 'changes', 'now');
    await expect.poll(() => ledger.stateOf(replaced), polling).toBe('revoked');
    if (hasStopped) await closeSecond();
    else ending.push(closeSecond);
    await server.restore();

    // The API server answers 429 until it has read its storage.
    const yesterday = () =>
      cluster.list('apikeys').then(
        (all) => all.map(({ metadata }) => metadata.name),
        () => [],
      );
    await expect.poll(yesterday, polling).toEqual(['changes', 'goes']);
    if (hasStopped) expect(await cluster.secretText('goes')).toBe(revoked);
    if (hasStopped) ending.push(await startOn(server.kubeconfig, namespace));
    // Weir owns both Secrets, so it gives them other keys.
    await expect.poll(() => cluster.secretText('goes'), polling).not.toBe(revoked);
    await expect.poll(() => cluster.secretText('changes'), polling).not.toBe(replaced);
    for (const text of [revoked, replaced]) expect(await ledger.stateOf(text)).toBe('revoked');
    for (const name of ['goes', 'changes']) {
      expect(await ledger.stateOf(await cluster.secretText(name))).toBe('active');
    }
    await cluster.credit('order-9', 'team', { usd: '10', note: 'order 9' });
    await expect.poll(() => readyOf(cluster, 'credits', 'Booked'), polling).toEqual(['order-8', 'order-9']);
    expect(await ledger.balanceOf('team')).toBe(35n * usd);
    expect(await workingKeys('team')).toBe(2);
  },
  180_000,
);

/** Alone on two cores, 1,000 are ready after 10 s. Beside other files there is less time for them. */
const atOnce = 250;

test(`${atOnce} ApiKeys applied at once are all ready`, async () => {
  const namespace = await makeNamespace(kubernetes);
  const cluster = objectsIn(kubernetes, namespace);
  await cluster.workspace('team');
  ending.push(await startOn(kubernetes.kubeconfig, namespace));
  const names = Array.from({ length: atOnce }, (_, index) => `key-${index}`);
  const began = performance.now();
  const waiting = [...names];
  const apply = async (): Promise<void> => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) await cluster.apiKey(name, 'team');
  };
  await Promise.all(Array.from({ length: 16 }, apply));
  const appliedMs = performance.now() - began;
  await expect.poll(async () => (await readyOf(cluster, 'apikeys', 'Ready')).length, { interval: 250 }).toBe(atOnce);
  const readyMs = performance.now() - began;
  process.stdout.write(
    `${atOnce} ApiKeys: applied in ${Math.round(appliedMs)} ms, ready after ${Math.round(readyMs)} ms\n`,
  );
  expect(await workingKeys('team')).toBe(atOnce);
}, 180_000);

const program = join(import.meta.dirname, 'support', 'replica-process.ts');

function startProcess(namespace: string, name: string): ChildProcess {
  const child = spawn(process.execPath, [program, kubernetes.kubeconfig, namespace, name, ledger.data], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  ending.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return child;
}

test('leaders that are killed leave neither a second booking nor a key that is in no Secret', async () => {
  const namespace = await makeNamespace(kubernetes);
  const cluster = objectsIn(kubernetes, namespace);
  const names = Array.from({ length: 120 }, (_, index) => `key-${index}`);
  await cluster.workspace('team');
  for (const [index, name] of names.entries()) {
    await cluster.apiKey(name, 'team');
    if (index % 4 === 0) await cluster.credit(name, 'team', { usd: '1', note: name });
  }
  const count = async (): Promise<number> => (await readyOf(cluster, 'apikeys', 'Ready')).length;
  for (const [round, least] of [1, 30, 60].entries()) {
    const child = startProcess(namespace, `weir-${round}`);
    await expect.poll(count, { interval: 10 }).toBeGreaterThanOrEqual(least);
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  startProcess(namespace, 'weir-last');
  await expect.poll(count, polling).toBe(names.length);
  await expect.poll(async () => (await readyOf(cluster, 'credits', 'Booked')).length, polling).toBe(30);
  expect(await ledger.balanceOf('team')).toBe(30n * usd);
  for (const name of names) expect(await ledger.stateOf(await cluster.secretText(name)), name).toBe('active');
  expect(await workingKeys('team')).toBe(names.length);
}, 240_000);
