import { expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sampleDatabase } from '../../../test/support/sample-database.ts';
import { DatabaseDown } from '../../books/core/administration.ts';
import { openAccounts } from '../../books/store/open-accounts.ts';
import { CannotOpen } from '../../books/databases/database.ts';
import { openWithRetry } from './retrying-accounts.ts';

const location = { kind: 'sqlite', file: '/none/weir.db' } as const;

/** Accounts whose database is down as long as the test wants. */
async function opening() {
  const sample = await sampleDatabase();
  const state = { kind: 'down' as 'down' | 'here' | 'refused', tries: 0, breaks: false };
  const clock = createFakeClock();
  const told: string[] = [];
  const log = { warn: (_: object, message: string) => void told.push(message), error: () => undefined };
  const open = async () => {
    state.tries += 1;
    if (state.kind !== 'here') throw new CannotOpen(location, new Error('refused'), state.kind);
    const accounts = await openAccounts(sample.location, { missing: 'refuse', user: 'service' });
    const breaking = async (...given: Parameters<typeof accounts.findKey>) => {
      if (state.breaks) throw new Error('the connection has ended');
      return accounts.findKey(...given);
    };
    return { ...accounts, findKey: breaking };
  };
  return { sample, state, clock, told, begin: () => openWithRetry(open, { clock, log }) };
}

it('goes on trying while the database is down, and tells once when it goes and when it comes', async () => {
  const { sample, state, clock, told, begin } = await opening();
  const { store, close } = await begin();
  onTestFinished(close);
  await expect(store.listWorkspaces()).rejects.toThrow(DatabaseDown);
  await expect(store.sharedSecret()).rejects.toThrow(DatabaseDown);
  expect(told).toEqual([expect.stringContaining('unreachable')]);
  state.kind = 'here';
  clock.advance(2_000);
  await expect.poll(() => told.length).toBe(2);
  expect((await store.listWorkspaces()).map(({ name }) => name)).toEqual(['acme']);
  expect(await store.findKey(sample.key.id)).toMatchObject({ id: sample.key.id });
  // It goes down later, too; what it refuses is an answer.
  state.breaks = true;
  await expect(store.findKey(sample.key.id)).rejects.toThrow(DatabaseDown);
  state.breaks = false;
  await expect(store.findKey('key_none')).rejects.toThrow('key_none');
  await store.findKey(sample.key.id);
  expect(told.map((message) => message.split(':')[0])).toEqual([
    ...['database unreachable', 'database reachable', 'database unreachable', 'database reachable'],
  ]);
  expect(state.tries).toBe(2);
});

it('does not wait for what waiting cannot mend, and ends while it waits', async () => {
  const { state, begin } = await opening();
  state.kind = 'refused';
  await expect(begin()).rejects.toThrow('Cannot open the database at /none/weir.db');
  state.kind = 'down';
  const { close } = await begin();
  await close();
  expect(state.tries).toBe(2);
});
