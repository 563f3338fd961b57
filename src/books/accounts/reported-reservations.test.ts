// @suite both-databases
import { expect, it, vi } from 'vitest';
import { sampleAuthor, sampleDatabase } from '../../../test/support/sample-database.ts';
import { storeAt } from '../../../test/support/sample-store.ts';
import { creditWorkspace } from './credits.ts';
import { reservedFor } from './reservations.ts';

// A thread of its own, on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 60_000 });

it('a service tells what its requests have reserved, so that a correction cannot take it, and nothing when it has ended', async () => {
  const { location, queries, workspace } = await sampleDatabase('10');
  const store = await storeAt(location);
  let reserved = new Map([[workspace.id, 8_000_000_000_000n]]);
  store.reportReserved(() => reserved);
  const correct = () => {
    const correction = { amount: -3_000_000_000_000n, note: 'refund' };
    return creditWorkspace(queries, 'acme', correction, { ...sampleAuthor, now: Date.now() });
  };
  const told = () => reservedFor(queries, workspace.id, Date.now());
  await expect.poll(told).toBe(8_000_000_000_000n);
  await expect(correct()).rejects.toThrow('$8 is reserved for in-flight requests');
  reserved = new Map([[workspace.id, 7_000_000_000_000n]]);
  await expect.poll(told).toBe(7_000_000_000_000n);
  expect((await correct()).balance).toBe(7_000_000_000_000n);
  await store.close();
  expect(await queries.selectFrom('reservations').selectAll().execute()).toEqual([]);
});
