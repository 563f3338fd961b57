import { expect, it, onTestFinished } from 'vitest';
import { createDisk } from '../../../../test/simulation/disk.ts';
import { loadSqlite } from '../../../../test/simulation/sqlite.ts';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { sampleAuthor, sampleNow } from '../../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../../test/support/sample-outcome.ts';
import { createKey } from '../../accounts/keys.ts';
import { createWorkspace } from '../../accounts/workspaces.ts';
import { settleOrExplain } from '../../ledger/settle-batch.ts';
import type { Machine } from '../machine.ts';
import { openSqlite } from './open.ts';

/** A database on a disk that can refuse to write or to sync, and whose file another process can lock. */
async function onFailingDisk() {
  const sqlite = await loadSqlite();
  onTestFinished(sqlite.forgetAll);
  const failing = { write: false, sync: false, isLocked: false };
  const disk = createDisk();
  disk.files.mkdirSync('/data');
  const refuseIf = (fails: boolean): void => {
    if (fails) throw new Error('EIO');
  };
  const failingDisk: typeof disk = {
    ...disk,
    write: (...of) => {
      refuseIf(failing.write);
      disk.write(...of);
    },
    sync: (file) => {
      refuseIf(failing.sync);
      disk.sync(file);
    },
  };
  const open = () => {
    const machine: Machine = {
      time: { ...createFakeClock(sampleNow), nextTurn: (run) => void setImmediate(run) },
      files: disk.files,
      sqlite: sqlite.driverOn(failingDisk, { isAlive: () => true }, { isHeld: () => failing.isLocked }),
    };
    return openSqlite({ kind: 'sqlite', file: '/data/weir.db' }, { missing: 'create', user: 'service' }, machine);
  };
  const database = await open();
  const workspace = await createWorkspace(
    database.queries,
    { name: 'acme', credit: 100n, maxInFlight: 1 },
    sampleAuthor,
  );
  const { key } = await createKey(database.queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor);
  const settle = (on: typeof database, requestId: string) =>
    settleOrExplain(
      on,
      [sampleOutcome({ workspaceId: workspace.id, keyId: key.id, requestId, cost: 2n, startedAt: sampleNow })],
      sampleNow,
    );
  // The names of the next rows are known, so nothing is written before their transaction.
  expect(await settle(database, 'first')).toMatchObject({ kind: 'settled' });
  return {
    ...{ database, failing, settle },
    /** The power fails. All writes survive that were not synced. */
    cutPower: () => {
      sqlite.forgetAll();
      disk.cutPower(() => 0);
      return open();
    },
  };
}

async function contentOf({ queries }: Awaited<ReturnType<typeof openSqlite>>) {
  const rows = await queries.selectFrom('requests').select('request_text').execute();
  const { balance } = await queries.selectFrom('workspaces').select('balance').executeTakeFirstOrThrow();
  return { rows: rows.map((row) => row.request_text).toSorted(), balance };
}

it.each([
  ['written', { write: true }],
  ['synced', { sync: true }],
])('the file may have the rows of a commit that cannot be %s, and they can be settled again', async (_, trouble) => {
  const { database, failing, settle } = await onFailingDisk();
  Object.assign(failing, trouble);
  expect(await settle(database, 'a')).toMatchObject({ kind: 'down', mayHaveRows: true });
  Object.assign(failing, { write: false, sync: false });
  expect(await settle(database, 'a')).toMatchObject({ kind: 'settled', refused: [] });
  expect(await contentOf(database)).toEqual({ rows: ['a', 'first'], balance: 96n });
});

it('the file surely does not have the rows while another process has locked it', async () => {
  const { database, failing, settle } = await onFailingDisk();
  failing.isLocked = true;
  expect(await settle(database, 'a')).toMatchObject({ kind: 'down', mayHaveRows: false });
  failing.isLocked = false;
  expect(await contentOf(database)).toEqual({ rows: ['first'], balance: 98n });
});

it('a commit that was not synced is there after a power cut, and is settled again without a second charge', async () => {
  const { database, failing, settle, cutPower } = await onFailingDisk();
  failing.sync = true;
  expect(await settle(database, 'a')).toMatchObject({ kind: 'down', mayHaveRows: true });
  expect(await contentOf(database)).toEqual({ rows: ['first'], balance: 98n });
  failing.sync = false;
  const next = await cutPower();
  expect(await contentOf(next)).toEqual({ rows: ['a', 'first'], balance: 96n });
  expect(await settle(next, 'a')).toMatchObject({ kind: 'settled', refused: [] });
  expect(await contentOf(next)).toEqual({ rows: ['a', 'first'], balance: 96n });
});
