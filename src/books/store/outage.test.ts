// @suite both-databases long
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { sampleDatabase, temporaryFolder } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { lockedByAnother, storeAt } from '../../../test/support/sample-store.ts';
import { hashKey } from '../accounts/key-text.ts';
import type { OpenStore } from './connect-store.ts';
import { verifyLedger } from '../ledger/verify-ledger.ts';

/** A store on a database that nobody can write until `release`. */
async function outage(options: { readonly journalBytes?: number } = {}) {
  const database = await sampleDatabase();
  const journal = join(temporaryFolder(), 'journal');
  const store = await storeAt(database.location, { journal, ...options });
  const hash = hashKey(database.text);
  await store.findCredential(hash);
  const { release } = await lockedByAnother(database.location);
  const settle = (requestId: string) => store.settle(sampleOutcome({ ...database.ids, requestId, cost: 2n }));
  const files = () => readdirSync(join(journal, '0')).filter((name) => !name.startsWith('lock'));
  const written = async () => (await database.queries.selectFrom('requests').select('request_text').execute()).length;
  return { ...database, journal, store, hash, release, settle, files, written };
}

async function untilBack(store: OpenStore): Promise<void> {
  await expect.poll(() => store.status().database).toBe('up');
}

async function expectTrueBooks({ queries }: Pick<Awaited<ReturnType<typeof outage>>, 'queries'>): Promise<void> {
  const { workspaces, spendingDifferences } = await verifyLedger(queries);
  expect(spendingDifferences).toEqual([]);
  expect(workspaces.filter(({ balance, expected }) => balance !== expected)).toEqual([]);
}

// An outage is noticed when a wait for the lock is over.
vi.setConfig({ testTimeout: 60_000 });

describe('while the database is down', () => {
  it('rows go to the journal, and into the database when it is back, each once', async () => {
    const { queries, store, release, settle, files, written } = await outage();
    await Promise.all(Array.from({ length: 300 }, (_, index) => settle(`a${index}`)));
    expect(store.status()).toMatchObject({ database: 'down', hasRoom: true });
    expect(store.status().journalBytes).toBeGreaterThan(300 * 100);
    expect(store.canSettle()).toBe(true);
    await Promise.all(Array.from({ length: 300 }, (_, index) => settle(`a${index + 200}`)));
    expect(await written()).toBe(0);
    expect(files().length).toBeGreaterThan(0);

    await release();
    await untilBack(store);
    expect(await written()).toBe(500);
    expect([store.status().journalBytes, files()]).toEqual([0, []]);
    await expectTrueBooks({ queries });
    await settle('after');
    expect(await written()).toBe(501);
  });

  it('a key that is known works on, less what it spends, and of another nobody can say', async () => {
    const { store, hash, release, settle } = await outage();
    await settle('a');
    expect(store.findCredential(hash)).toMatchObject({ workspace: { balance: 9_999_999_999_998n } });
    const unknown = Promise.resolve(store.findCredential(hashKey('sk-weir-nobody')));
    await expect(unknown).rejects.toMatchObject({ code: 'internal' });
    await release();
    await untilBack(store);
    expect(await store.findCredential(hashKey('sk-weir-nobody'))).toBeUndefined();
    expect(await store.findCredential(hash)).toMatchObject({ workspace: { balance: 9_999_999_999_998n } });
  });

  it('a full journal refuses new requests first and rows last, and has room again afterwards', async () => {
    const { queries, store, release, settle, written } = await outage({ journalBytes: 20_000 });
    let settled = 0;
    while (store.canSettle()) settled += await settle(`a${settled}`).then(() => 1);
    expect(settled).toBeGreaterThan(10);
    await settle('one-under-way');
    const all = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => settle(`b${index}`)));
    const refused = all.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]).toMatchObject({ reason: { code: 'overloaded' } });
    await release();
    await untilBack(store);
    expect(store.canSettle()).toBe(true);
    expect(await written()).toBe(settled + 1 + all.length - refused.length);
    await expectTrueBooks({ queries });
  });

  it('a journal that cannot be written refuses new requests until it can', async () => {
    const { journal, store, release, settle, written } = await outage();
    rmSync(join(journal, '0'), { recursive: true });
    expect(store.canSettle()).toBe(true);
    await expect(settle('under-way')).rejects.toMatchObject({ code: 'overloaded' });
    const journalFault: unknown = expect.stringContaining('ENOENT');
    expect(store.status()).toMatchObject({ hasRoom: false, journalFault });
    expect(store.canSettle()).toBe(false);
    mkdirSync(join(journal, '0'));
    await expect.poll(() => store.canSettle()).toBe(true);
    await settle('a');
    expect(store.status()).toMatchObject({ database: 'down', journalFault: undefined });
    await release();
    await untilBack(store);
    expect(await written()).toBe(1);
  });

  it('a row that can never be written harms no other, and its file is kept', async () => {
    const { queries, store, release, settle, files, written } = await outage();
    const stranger = store.settle(sampleOutcome({ requestId: 'stranger' }));
    await Promise.all([settle('a'), stranger, settle('b')]);
    await release();
    await untilBack(store);
    expect(await written()).toBe(2);
    expect(files()).toEqual([expect.stringMatching(/\.refused$/)]);
    await expectTrueBooks({ queries });
  });
});

describe('what a process leaves in the journal', () => {
  it('is settled by the next one before anything else', async () => {
    const { queries, location, journal, store, release, settle, written } = await outage();
    await Promise.all([settle('a'), settle('b')]);
    await store.close();
    await release();
    const next = await storeAt(location, { journal });
    await untilBack(next);
    expect(await written()).toBe(2);
    await expectTrueBooks({ queries });
  });

  it('is settled by another one that is started, not by one that runs: what is somebody’s is left alone', async () => {
    const { location, journal, store, release, settle, written } = await outage();
    const beside = await storeAt(location, { journal });
    await settle('a');
    await store.close();
    await release();
    await beside.settle(sampleOutcome({ requestId: 'x' })).catch(() => undefined);
    expect(await written()).toBe(0);
    await beside.close();
    const next = await storeAt(location, { journal });
    await untilBack(next);
    expect(await written()).toBe(1);
  });
});
