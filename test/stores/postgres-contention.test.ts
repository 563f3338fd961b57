import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import type { Authorship } from '../../src/books/core/administration.ts';
import { changeKey } from '../../src/books/accounts/change-keys.ts';
import { addCredit } from '../../src/books/accounts/credits.ts';
import { createKey } from '../../src/books/accounts/keys.ts';
import { inviteMember } from '../../src/books/accounts/members.ts';
import { rotateKey } from '../../src/books/accounts/rotate-key.ts';
import { setTagBudget } from '../../src/books/accounts/tag-budgets.ts';
import { changeWorkspace, createWorkspace, findWorkspace } from '../../src/books/accounts/workspaces.ts';
import type { OpenDatabase } from '../../src/books/databases/database.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { settleOrExplain } from '../../src/books/ledger/settle-batch.ts';
import { sampleAuthor, sampleDatabase, sampleNow } from '../support/sample-database.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';

type Sample = Awaited<ReturnType<typeof sampleDatabase>>;

async function open({ location }: Sample, user: 'service' | 'operator'): Promise<OpenDatabase> {
  const database = await openDatabase(location, { missing: 'refuse', user });
  onTestFinished(() => database.close());
  return database;
}

const budget = { limit: 9n, period: 'day' } as const;

/** Each kind of change of a workspace. Those that are made of the same objects wait for one another. */
const changes: readonly ((sample: Sample, of: OpenDatabase['queries'], by: Authorship) => Promise<unknown>)[] = [
  (_, of, by) => changeWorkspace(of, 'acme', { maxInFlight: 200 }, by),
  (_, of, by) => addCredit(of, 'acme', { amount: 1n, note: undefined }, by),
  ({ key }, of, by) => changeKey(of, key.id, { budget }, by),
  (_, of, by) => inviteMember(of, 'acme', { address: `a${by.now}@example.com`, role: 'viewer' }, by),
  (_, of, by) => setTagBudget(of, 'acme', { tag: `t=${by.now % 20}`, budget }, by),
  ({ key }, of, by) => rotateKey(of, key.id, { overlapMs: 1_000_000 }, by),
  ({ key }, of, by) => changeKey(of, key.id, { status: 'active' }, by),
];

it('64 changes of a workspace at once, from two portals, fail no settlement of it or of a neighbour', async () => {
  const sample = await sampleDatabase('10');
  const { queries, ids } = sample;
  const other = await createWorkspace(queries, { name: 'other', credit: 1_000n, maxInFlight: 9 }, sampleAuthor);
  const { key: otherKey } = await createKey(queries, { workspace: 'other', rate: 1, burst: 1 }, sampleAuthor);
  const portals = [await open(sample, 'service'), await open(sample, 'service')] as const;
  const service = await open(sample, 'service');
  const settled: string[] = [];
  const settling = async (): Promise<void> => {
    for (let index = 0; index < 40; index += 1) {
      const own = { cost: 1n, startedAt: sampleNow, tags: `t=${index % 20}` };
      const { kind } = await settleOrExplain(
        service,
        [
          sampleOutcome({ ...ids, requestId: `own-${index}`, ...own }),
          sampleOutcome({ workspaceId: other.id, keyId: otherKey.id, requestId: `other-${index}`, ...own }),
        ],
        sampleNow,
      );
      settled.push(kind);
    }
  };
  const changing = Array.from({ length: 64 }, async (_, index) =>
    changes[index % changes.length]?.(sample, portals[index % 2 === 0 ? 0 : 1].queries, {
      ...{ ...sampleAuthor, now: sampleNow + index },
    }),
  );
  const [results] = await Promise.all([Promise.allSettled(changing), settling()]);
  expect(results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []))).toEqual([]);
  expect(new Set(settled)).toEqual(new Set(['settled']));
  expect((await findWorkspace(queries, 'other')).balance).toBe(960n);
});

it('a command that stops in the middle of a change loses its locks, so that settlements go on', async () => {
  const sample = await sampleDatabase('10');
  const operator = await open(sample, 'operator');
  const { rows } = await sql<{ most: string }>`
    select current_setting('idle_in_transaction_session_timeout') as most`.execute(operator.queries);
  expect(rows).toEqual([{ most: '30s' }]);
  const service = await open(sample, 'service');
  const settle = (requestId: string) =>
    settleOrExplain(service, [sampleOutcome({ ...sample.ids, requestId, cost: 1n, startedAt: sampleNow })], sampleNow);
  const locked = Promise.withResolvers<undefined>();
  const resumed = Promise.withResolvers<undefined>();
  const stopped = operator.queries.transaction().execute(async (transaction) => {
    await sql`set local idle_in_transaction_session_timeout = '3s'`.execute(transaction);
    await transaction.updateTable('workspaces').set({ max_in_flight: 1n }).execute();
    locked.resolve(undefined);
    await resumed.promise;
  });
  await locked.promise;
  // Twin: while the lock lasts, rows wait for it and go to the journal.
  expect(await settle('one')).toMatchObject({ kind: 'down' });
  await expect.poll(async () => (await settle('two')).kind).toBe('settled');
  resumed.resolve(undefined);
  await expect(stopped).rejects.toThrow(/connection/);
});
