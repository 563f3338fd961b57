import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Credential } from '../../core/account.ts';
import { connectStore } from './connect-store.ts';
import type { StoreReply, StoreRequest } from './worker-message.ts';

const status = { journalBytes: 0, journalFault: undefined, hasRoom: true, reason: undefined };

function credential(keyStatus: Credential['key']['status']): Credential {
  return {
    key: { id: 'key-1', workspaceId: 'ws', status: keyStatus, rate: 1, burst: 1 },
    workspace: { id: 'ws', name: 'acme', status: 'active', balance: 10n, maxInFlight: 1 },
    spent: 0n,
  };
}

/** A store that remembers one active key. Its thread is the test. */
async function rememberingStore(location: 'sqlite' | 'postgres') {
  const clock = createFakeClock();
  const time = { ...clock, nextTurn: (run: () => void) => void clock.after(0, run) };
  const requests: StoreRequest[] = [];
  let reply = (_message: StoreReply): void => undefined;
  const connecting = connectStore(
    { post: (request) => void requests.push(request), listen: (calls) => (reply = calls.reply) },
    { kind: location, journalBytes: 1, retentionDays: 0 },
    time,
  );
  reply({ kind: 'ready' });
  const store = await connecting;
  reply({ kind: 'status', status: { ...status, database: 'up' } });
  reply({ kind: 'found', found: [['hash', credential('active')]] });
  const hashesOf = (kind: 'find' | 'find-again') => () =>
    requests.splice(0).flatMap((request) => (request.kind === kind ? request.hashes : []));
  const goDown = () => reply({ kind: 'status', status: { ...status, database: 'down' } });
  return { clock, store, reply, lookUps: hashesOf('find'), again: hashesOf('find-again'), goDown };
}

it.each(['sqlite', 'postgres'] as const)('reads a key that nobody uses again after a change, on %s', async (kind) => {
  const { clock, store, reply, lookUps, goDown } = await rememberingStore(kind);
  reply({ kind: 'confirmed' });
  clock.advance(600);
  expect(lookUps()).toEqual([]);
  reply({ kind: 'changed' });
  clock.advance(300);
  expect(lookUps()).toEqual(['hash']);
  reply({ kind: 'found', found: [['hash', credential('revoked')]] });
  goDown();
  clock.advance(60_000);
  expect(store.findCredential('hash')).toMatchObject({ key: { status: 'revoked' } });
  expect(lookUps()).toEqual([]);
});

it.each([
  [5_900, 'uses', []],
  [6_100, 'reads again', ['hash']],
])('%d ms after the last message, %s a key that was confirmed a second ago, on sqlite', async (ms, _, expected) => {
  const { clock, store, reply, lookUps } = await rememberingStore('sqlite');
  clock.advance(ms - 1_000);
  reply({ kind: 'confirmed' });
  clock.advance(1_000);
  void store.findCredential('hash');
  expect(lookUps()).toEqual(expected);
});

it('would use a key that was stopped in an outage if it was not read again', async () => {
  const { clock, store, reply, goDown } = await rememberingStore('postgres');
  reply({ kind: 'changed' });
  goDown();
  clock.advance(60_000);
  expect(store.findCredential('hash')).toMatchObject({ key: { status: 'active' } });
});

it('learns of a stopped key from a database that stores nothing, and keeps the lower balance', async () => {
  const { clock, store, reply, again, goDown } = await rememberingStore('postgres');
  goDown();
  reply({ kind: 'journaled', costs: [['ws', 4n]], spendings: [], faults: [] });
  expect(store.findCredential('hash')).toMatchObject({ workspace: { balance: 6n } });
  clock.advance(300);
  expect(again()).toEqual(['hash']);
  reply({ kind: 'found', isBehind: true, found: [['hash', credential('suspended')]] });
  expect(store.findCredential('hash')).toMatchObject({ key: { status: 'suspended' }, workspace: { balance: 6n } });
  // The balance of a key that was not remembered is not known.
  const unknown = store.findCredential('unknown');
  reply({ kind: 'found', isBehind: true, found: [['unknown', credential('active')]] });
  reply({ kind: 'not-searched', hashes: ['unknown'], message: 'the database is down' });
  await expect(unknown).rejects.toThrow('could not reach its accounts');
});

it('counts what it settles and what others change, where the database reports all changes', async () => {
  const { store, reply } = await rememberingStore('sqlite');
  const before = store.changes() ?? NaN;
  reply({ kind: 'confirmed' });
  expect(store.changes()).toBe(before);
  reply({ kind: 'changed' });
  expect(store.changes()).toBe(before + 1);
  void store.settle(sampleOutcome({ workspaceId: 'ws' }));
  reply({ kind: 'settled', balances: [], spendings: [], faults: [] });
  expect(store.changes()).toBe(before + 2);
  const { store: onServer } = await rememberingStore('postgres');
  expect(onServer.changes()).toBeUndefined();
});

it('reads a key again now and then if no change is reported', async () => {
  const { clock, lookUps } = await rememberingStore('postgres');
  clock.advance(29_900);
  expect(lookUps()).toEqual([]);
  clock.advance(300);
  expect(lookUps()).toEqual(['hash']);
});

describe.each(['sqlite', 'postgres'] as const)('a key that is known, on %s', (kind) => {
  /** The outcome of a request that looks the key up so long after it was read, while the database does not answer. */
  async function servedAfter(ms: number, goesDown: boolean) {
    const { clock, store, reply, goDown } = await rememberingStore(kind);
    if (goesDown) goDown();
    clock.advance(ms);
    const found = Promise.resolve(store.findCredential('hash'));
    reply({ kind: 'not-searched', hashes: ['hash'], message: 'the database is away' });
    return found.then(
      (known) => known?.key.id,
      (error: unknown) => error,
    );
  }

  describe.each([
    ['is known to be down', true],
    ['has just failed', false],
  ])('while the database %s', (_, goesDown) => {
    it.each([0, 60_000, 30 * 60_000 - 1])('works %i ms after it was read', async (ms) => {
      expect(await servedAfter(ms, goesDown)).toBe('key-1');
    });

    it.each([30 * 60_000, 30 * 60_000 + 1, 2 * 3_600_000])('no longer works %i ms after it was read', async (ms) => {
      expect(await servedAfter(ms, goesDown)).toMatchObject({ code: 'internal' });
    });
  });

  it('is read again once it is older than the store allows', async () => {
    const { clock, store, lookUps } = await rememberingStore(kind);
    const oldestMs = { sqlite: 5_000, postgres: 800 }[kind];
    clock.advance(oldestMs - 1);
    lookUps();
    void store.findCredential('hash');
    expect(lookUps()).toEqual([]);
    clock.advance(1);
    lookUps();
    void store.findCredential('hash');
    expect(lookUps()).toEqual(['hash']);
  });
});
