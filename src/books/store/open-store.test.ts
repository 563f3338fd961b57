// @suite apart both-databases
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import {
  databaseKind,
  newLocation,
  sampleAuthor,
  sampleDatabase,
  temporaryFolder,
} from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { databaseUrl, lockedByAnother, storeAt } from '../../../test/support/sample-store.ts';
import { fundsOf } from '../../gateway/admission/limits.ts';
import { listBounds } from '../../core/limits.ts';
import { countedTagsOf } from '../../core/tags.ts';
import { hashKey } from '../accounts/key-text.ts';
import { setTagBudget } from '../accounts/tag-budgets.ts';
import { verifyLedger } from '../ledger/verify-ledger.ts';
import { findWorkspace } from '../accounts/workspaces.ts';
import { untilHolds } from '../../../test/support/until-holds.ts';

async function storeBeside(credit?: string) {
  const database = await sampleDatabase(credit);
  const store = await storeAt(database.location);
  return { ...database, store, hash: hashKey(database.text) };
}

// Threads and processes of their own, on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 60_000 });

describe('settle', () => {
  it('resolves when others can see the row and the money is taken', async () => {
    const { store, queries, ids } = await storeBeside();
    await store.settle(sampleOutcome({ ...ids, cost: 9n }));
    expect((await findWorkspace(queries, 'acme')).balance).toBe(9_999_999_999_991n);
    expect(await queries.selectFrom('requests').select('request_text').execute()).toEqual([{ request_text: 'req-1' }]);
  });

  it('takes thousands of rows at once, each id once', async () => {
    const { store, queries, ids } = await storeBeside();
    const rows = Array.from({ length: 5_000 }, (_, index) =>
      sampleOutcome({ ...ids, requestId: `r${index % 4_000}`, cost: 2n }),
    );
    await Promise.all(rows.map(store.settle));
    const {
      workspaces: [books],
    } = await verifyLedger(queries);
    expect(books).toMatchObject({ requests: 4_000, costs: 8_000n });
    expect(books?.balance).toBe(books?.expected);
    expect(store.waiting()).toBe(0);
  });

  it('rejects a row that cannot be written, and only that one', async () => {
    const { store, ids } = await storeBeside();
    const [good, bad] = await Promise.allSettled([
      store.settle(sampleOutcome({ ...ids, requestId: 'good' })),
      store.settle(sampleOutcome({ requestId: 'bad' })),
    ]);
    expect([good.status, bad]).toMatchObject(['fulfilled', { status: 'rejected', reason: { code: 'internal' } }]);
  });

  it('lets admission count tags as the ledger does, once a request was counted as "other"', async () => {
    const { store, queries, ids, hash } = await storeBeside();
    const budget = { limit: 100n, period: 'total' } as const;
    await setTagBudget(queries, 'acme', { tag: 'other=other', budget }, sampleAuthor);
    const counted = async (sent: string) => {
      const credential = await store.findCredential(hash);
      return countedTagsOf(sent, credential?.countedTags);
    };
    expect(await counted('x=1')).toBe('x=1');
    // The budget has taken the place of one name.
    const names = Array.from({ length: listBounds.maxTagNames - 1 }, (_, index) => `n${index}=1`);
    for (const tags of [...names, 'x=1,y=2']) {
      await store.settle(sampleOutcome({ ...ids, requestId: tags, tags, cost: 60n }));
    }
    expect(await counted('x=1')).toBe('other=other');
    const credential = await store.findCredential(hash);
    // Both tags are one sum, which has the request once.
    expect(credential && fundsOf(credential, 'other=other').tags).toEqual([{ tag: 'other=other', left: 40n }]);
  });

  it('never makes this thread wait for the disk, and refuses rows past its limit', async () => {
    const { store, location, ids } = await storeBeside();
    const lock = await lockedByAnother(location);
    const rows = Array.from({ length: 10_000 }, (_, index) =>
      store.settle(sampleOutcome({ ...ids, requestId: `r${index}` })),
    );
    // Had a row waited for the lock, which nobody releases meanwhile, it would have failed.
    expect(store.waiting()).toBe(10_000);
    await new Promise((resolve) => setImmediate(resolve));
    await expect(store.settle(sampleOutcome({ ...ids, requestId: 'over' }))).rejects.toMatchObject({
      code: 'overloaded',
    });
    expect(store.waiting()).toBe(10_000);
    await lock.release();
    await Promise.all(rows);
    await store.settle(sampleOutcome({ ...ids, requestId: 'over' }));
  });
});

describe('findCredential', () => {
  /** The first answers may be doubted again: with PostgreSQL, whoever begins to listen does not know what was said before. */
  const untilInMemory = (check: () => void) => untilHolds(check, 5);

  it('asks once, then answers from memory in the same turn, for keys that are not there too', async () => {
    const { store, hash, key, workspace } = await storeBeside();
    const first = store.findCredential(hash);
    expect(first).toBeInstanceOf(Promise);
    expect(store.findCredential(hash)).toBe(first);
    expect(await first).toMatchObject({ key: { id: key.id }, workspace });
    await untilInMemory(() => expect(store.findCredential(hash)).toMatchObject({ key: { id: key.id }, workspace }));

    const unknown = hashKey('sk-weir-nobody');
    const asked = store.findCredential(unknown);
    expect(asked).toBeInstanceOf(Promise);
    expect(await asked).toBeUndefined();
    await untilInMemory(() => expect(store.findCredential(unknown)).toBeUndefined());
  });

  it('shows the balance less what has been settled', async () => {
    const { store, hash, ids } = await storeBeside();
    await store.findCredential(hash);
    await store.settle(sampleOutcome({ ...ids, cost: 4n }));
    expect(await store.findCredential(hash)).toMatchObject({ workspace: { balance: 9_999_999_999_996n } });
  });

  it('sees what another process changed', async () => {
    const { store, hash, location, key } = await storeBeside();
    const env = { WEIR_DATABASE_URL: databaseUrl(location) };
    await store.findCredential(hash);
    for (const [args, expected] of [
      [['key', 'suspend', key.id], { key: { status: 'suspended' } }],
      [['key', 'resume', key.id], { key: { status: 'active' } }],
      [['workspace', 'suspend', 'acme'], { workspace: { status: 'suspended' } }],
      [['workspace', 'credit', 'acme', '2.5'], { workspace: { balance: 12_500_000_000_000n } }],
      [['key', 'revoke', key.id], { key: { status: 'revoked' } }],
    ] as const) {
      const ended = await runCommand(args, { env });
      expect(ended.stderr).toBe('');
      await expect.poll(() => store.findCredential(hash)).toMatchObject(expected);
    }
  });

  it('finds a key that is made after it was asked for in vain', async () => {
    const { store, queries, ids } = await storeBeside();
    const hash = hashKey('sk-weir-soon');
    expect(await store.findCredential(hash)).toBeUndefined();
    await queries.updateTable('keys').set({ hash }).execute();
    await expect.poll(() => store.findCredential(hash)).toMatchObject({ key: { id: ids.keyId } });
  });
});

describe('the store', () => {
  it('makes a missing database', async () => {
    const store = await storeAt(
      databaseKind === 'postgres'
        ? await newLocation()
        : { kind: 'sqlite', file: join(temporaryFolder(), 'data', 'weir.db') },
    );
    expect(await store.findCredential(hashKey('sk-weir-any'))).toBeUndefined();
  });

  it('refuses to open a file that is no database, by its path', async () => {
    const file = join(temporaryFolder(), 'weir.db');
    writeFileSync(file, 'x'.repeat(4_096));
    await expect(storeAt({ kind: 'sqlite', file })).rejects.toThrow(
      `Cannot open the database at ${file}: file is not a database.`,
    );
  });

  it('writes what waits before it closes, and takes nothing after', async () => {
    const { queries, location, ids, text } = await sampleDatabase();
    const store = await storeAt(location);
    const rows = Array.from({ length: 3_000 }, (_, index) =>
      store.settle(sampleOutcome({ ...ids, requestId: `r${index}` })),
    );
    await Promise.all([store.close(), ...rows]);
    expect(await queries.selectFrom('requests').select('request_text').execute()).toHaveLength(3_000);
    await expect(store.settle(sampleOutcome(ids))).rejects.toMatchObject({ code: 'internal' });
    await expect(store.findCredential(hashKey(text))).rejects.toMatchObject({ code: 'internal' });
  });
});
