/** A model leaves the catalog with 14 days' notice (docs/reference/api.md §9), whatever kubectl is told. */
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { makeNamespace } from './support/cluster.ts';
import { type HurriedClock, startHurriedClock } from './support/hurried-clock.ts';
import { objectsIn } from './support/objects.ts';
import { startTestReplica, type TestReplica } from './support/replica.ts';

const day = 24 * 60 * 60 * 1000;
const kubernetes = inject('kubernetes');
let cluster: ReturnType<typeof objectsIn>;
let namespace: string;
let clock: HurriedClock;
let replica: TestReplica;

beforeEach(async () => {
  namespace = await makeNamespace(kubernetes);
  cluster = objectsIn(kubernetes, namespace);
  clock = startHurriedClock();
  replica = await startTestReplica({ kubeconfig: kubernetes.kubeconfig, namespace, clock });
  await cluster.backend('vllm-a');
  await cluster.model('good');
  await cluster.model('stays');
  // The finalizer is written before the status.
  await until('Listed', /^True Listed/);
});
afterEach(async () => {
  await replica.close();
  clock.stop();
});

const polling = { interval: 100 };
async function until(type: string, says: RegExp): Promise<void> {
  await expect.poll(() => cluster.condition('models', 'good', type), polling).toMatch(says);
}
const inDays = (days: number): string => new Date(clock.now() + days * day).toISOString();
const announced = async () => {
  const { status } = await cluster.get('models', 'good');
  return { after: Date.parse(status?.retireAt ?? '') - Date.parse(status?.announcedAt ?? ''), ...status };
};

test('a deleted Model is served until its notice has run, and then it is gone', async () => {
  await cluster.remove('models', 'good');
  await until('Retiring', /^True Deleted: metadata\.deletionTimestamp: leaves the catalog at \d{4}-/);
  expect((await announced()).after).toBe(14 * day);
  await expect.poll(cluster.events, polling).toContain('Normal RetirementAnnounced Model/good');

  clock.advance(14 * day - 60_000);
  await until('Listed', /^True Listed/);
  expect(replica.models()).toEqual(['test/good', 'test/stays']);

  clock.advance(120_000);
  await expect.poll(replica.models, polling).toEqual(['test/stays']);
  await expect.poll(() => cluster.exists('models', 'good'), polling).toBe(false);
  await expect.poll(cluster.events, polling).toContain('Normal Left Model/good');
});

test('a deletion says what to do about it, and a second Model with the id takes over without a gap', async () => {
  await cluster.remove('models', 'good');
  const advice =
    '`kubectl delete` waits for that; it need not: `--wait=false`. To keep the model, create a second Model with the id ' +
    '"test/good": it takes over when this one leaves. To let it leave now, set the annotation weir.dev/waive-notice=true.';
  await until('Retiring', new RegExp(`^True Deleted: .*${RegExp.escape(advice)}$`));
  const notes = async (): Promise<readonly string[]> =>
    (await cluster.storedEvents()).filter(({ reason }) => reason === 'RetirementAnnounced').map(({ note }) => note);
  await expect.poll(notes, polling).toEqual([expect.stringContaining(advice)]);

  await cluster.model('good-again', { id: 'test/good' });
  await expect.poll(() => cluster.condition('models', 'good-again', 'Accepted'), polling).toMatch(/^False IdTaken/);
  await cluster.merge('models', 'good', { metadata: { annotations: { 'weir.dev/waive-notice': 'true' } } });
  const gaps: (readonly string[])[] = [];
  const isThere = async (): Promise<boolean> => {
    if (!replica.models().includes('test/good')) gaps.push(replica.models());
    return cluster.exists('models', 'good');
  };
  await expect.poll(isThere, { interval: 5 }).toBe(false);
  await expect.poll(() => cluster.condition('models', 'good-again', 'Listed'), polling).toMatch(/^True Listed/);
  expect(await isThere()).toBe(false);
  expect(gaps).toEqual([]);
});

test('an object that is applied again while it is being deleted is still deleted', async () => {
  await cluster.remove('models', 'good');
  await until('Retiring', /^True Deleted/);
  await cluster.model('good');
  expect((await cluster.get('models', 'good')).metadata.deletionTimestamp).toBeDefined();
  clock.advance(14 * day + 60_000);
  await expect.poll(() => cluster.exists('models', 'good'), polling).toBe(false);
  await expect.poll(replica.models, polling).toEqual(['test/stays']);
});

test('retireAt is honoured no earlier than 14 days after it was first seen', async () => {
  await cluster.model('good', { retireAt: inDays(2) });
  await until('Retiring', /^True RetireAt: spec\.retireAt: .*honoured no earlier than 14 days after it was first seen/);
  const first = await announced();
  expect(first.after).toBe(14 * day);

  clock.advance(3 * day);
  await until('Servable', /^True/);
  expect(await announced()).toMatchObject({ announcedAt: first.announcedAt, retireAt: first.retireAt });
  expect(replica.models()).toContain('test/good');

  clock.advance(11 * day + 60_000);
  await expect.poll(replica.models, polling).toEqual(['test/stays']);
  await until('Servable', /^False Left: left the catalog at /);
  await until('Listed', /^False NotInCatalog/);
  // It is there to be looked at, and to come back when the date is moved.
  await cluster.model('good', { retireAt: inDays(30) });
  await expect.poll(replica.models, polling).toContain('test/good');
});

test('a Model that is deleted after its date was announced leaves on that date', async () => {
  await cluster.model('good', { retireAt: inDays(2) });
  await until('Retiring', /^True RetireAt/);
  const { retireAt } = await announced();
  clock.advance(10 * day);
  await cluster.remove('models', 'good');
  await until('Retiring', /^True RetireAt/);
  expect((await announced()).retireAt).toBe(retireAt);
  clock.advance(4 * day + 60_000);
  await expect.poll(() => cluster.exists('models', 'good'), polling).toBe(false);
});

test('an announcement outlives the replica that made it', async () => {
  await cluster.model('good', { retireAt: inDays(2) });
  await until('Retiring', /^True RetireAt/);
  await replica.close();
  clock.advance(13 * day);
  replica = await startTestReplica({ kubeconfig: kubernetes.kubeconfig, namespace, clock, name: 'weir-9' });
  expect(replica.models()).toContain('test/good');
  clock.advance(day + 60_000);
  await expect.poll(replica.models, polling).toEqual(['test/stays']);
});

test('the operator’s waiver ends the notice at once', async () => {
  await cluster.remove('models', 'good');
  await until('Retiring', /^True Deleted/);
  await cluster.merge('models', 'good', { metadata: { annotations: { 'weir.dev/waive-notice': 'true' } } });
  await expect.poll(() => cluster.exists('models', 'good'), polling).toBe(false);
  await expect.poll(replica.models, polling).toEqual(['test/stays']);
  await expect.poll(cluster.events, polling).toContain('Warning NoticeWaived Model/good');
});
