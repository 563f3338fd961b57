// @suite apart
import type { Worker } from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { sampleDatabase } from '../../../test/support/sample-database.ts';
import { storeAt } from '../../../test/support/sample-store.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';

const started: Worker[] = [];

vi.mock('node:worker_threads', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:worker_threads')>();
  class Remembered extends original.Worker {
    constructor(...options: ConstructorParameters<typeof Worker>) {
      super(...options);
      started.push(this);
    }
  }
  return { ...original, Worker: Remembered };
});

it('says so when its thread ends, and leaves nobody waiting', { timeout: 60_000 }, async () => {
  const { location, ids } = await sampleDatabase();
  const store = await storeAt(location);
  // Whoever is told to end takes no more work: what is asked from now on cannot be done before.
  const ending = started[0]?.terminate();
  const settling = store.settle(sampleOutcome(ids)).catch((error: unknown) => error);
  const looking = Promise.resolve(store.findCredential('0'.repeat(64))).catch((error: unknown) => error);
  await ending;
  expect((await store.lost).message).toContain("the store's thread ended");
  expect(await settling).toMatchObject({ code: 'internal' });
  expect(await looking).toMatchObject({ code: 'internal' });
  await expect(store.settle(sampleOutcome(ids))).rejects.toMatchObject({ code: 'internal' });
  await store.close();
});
