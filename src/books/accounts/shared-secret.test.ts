// @suite both-databases
import { describe, expect, it, vi } from 'vitest';
import { databaseKind, newLocation, sampleDatabase } from '../../../test/support/sample-database.ts';
import { lockedByAnother, storeAt } from '../../../test/support/sample-store.ts';
import type { OpenDatabase } from '../databases/database.ts';
import { openDatabase } from '../databases/open-database.ts';
import { readSharedSecret } from './shared-secret.ts';

// Threads of their own, on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 60_000 });

const shape = /^[0-9a-f]{64}$/;

it('is the same for all stores on one database, and after a restart', async () => {
  const { location, queries } = await sampleDatabase();
  const [one, other] = [await storeAt(location), await storeAt(location)];
  const secret = one.secret();
  expect(secret).toMatch(shape);
  expect(other.secret()).toBe(secret);
  await Promise.all([one.close(), other.close()]);
  expect((await storeAt(location)).secret()).toBe(secret);
  expect(await queries.selectFrom('secrets').selectAll().execute()).toEqual([{ name: 'affinity', value: secret }]);
});

it('is another one on another database', async () => {
  const [one, other] = [await storeAt(await newLocation()), await storeAt(await newLocation())];
  expect(one.secret()).not.toBe(other.secret());
});

it('is agreed upon by stores that open an empty database at the same moment', async () => {
  const location = await newLocation();
  const stores = await Promise.all(Array.from({ length: 4 }, () => storeAt(location)));
  await expect.poll(() => stores.map((store) => store.status().database)).toEqual(Array(4).fill('up'));
  expect(new Set(stores.map((store) => store.secret())).size).toBe(1);
});

it('is that of the row that was first, whoever else found none', async () => {
  const location = await newLocation();
  const databases: OpenDatabase[] = [];
  try {
    for (let count = 0; count < 6; count += 1) {
      databases.push(await openDatabase(location, { missing: 'create', user: 'service' }));
    }
    for (let round = 0; round < 20; round += 1) {
      const secrets = await Promise.all(databases.map(({ queries }) => readSharedSecret(queries)));
      expect(new Set(secrets).size).toBe(1);
      await databases[0]?.queries.deleteFrom('secrets').execute();
    }
  } finally {
    await Promise.all(databases.map((database) => database.close()));
  }
});

describe.runIf(databaseKind === 'sqlite')('a database that nobody can write', () => {
  it('answers when it has the secret', async () => {
    const { location } = await sampleDatabase();
    const store = await storeAt(location);
    await store.close();
    await lockedByAnother(location);
    expect((await storeAt(location)).secret()).toBe(store.secret());
  });

  it('that has none leaves a store with a secret of its own until it can be written', async () => {
    const { location, queries } = await sampleDatabase();
    const { release } = await lockedByAnother(location);
    const store = await storeAt(location);
    const own = store.secret();
    expect([store.status().database, own]).toEqual(['down', expect.stringMatching(shape)]);
    await release();
    await expect.poll(() => store.status().database).toBe('up');
    const [row] = await queries.selectFrom('secrets').selectAll().execute();
    expect(store.secret()).toBe(row?.value);
    expect(store.secret()).not.toBe(own);
  });
});
