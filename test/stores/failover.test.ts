import { expect, it, onTestFinished } from 'vitest';
import { createKey } from '../../src/books/accounts/keys.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { settleBatch } from '../../src/books/ledger/settle-batch.ts';
import { createWorkspace, findWorkspace } from '../../src/books/accounts/workspaces.ts';
import { differencesIn } from '../support/ledger-differences.ts';
import { startPostgres } from '../support/postgres.ts';
import { sampleAuthor } from '../support/sample-database.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';
import { storeAt } from '../support/sample-store.ts';
import { untilHolds } from '../support/until-holds.ts';

it('a replica that takes over without the last second: what it lost is free of charge, and what comes then is billed to its own key', async () => {
  const server = await startPostgres();
  onTestFinished(server.close);
  const location = { kind: 'postgres', url: await server.database('present') } as const;
  /** Keeps the database as it is, as a replica does that hears no more of it. */
  const keepAs = (name: string) => replace(`create database ${name} template present`);
  /** Puts what was kept in place of the database. */
  const takeOver = (name: string) =>
    replace(`alter database present rename to past; alter database ${name} rename to present`);
  /** Runs statements at a moment at which nothing is connected to the database, as they demand. */
  const replace = (statements: string) =>
    untilHolds(async () => {
      await server.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'present'`);
      for (const statement of statements.split('; ')) await server.query(statement);
    });
  const connected = () => openDatabase(location, { missing: 'create', user: 'operator' });

  const before = await connected();
  const keys = [];
  for (const name of ['a', 'b', 'c']) {
    const workspace = await createWorkspace(before.queries, { name, credit: 100n, maxInFlight: 1 }, sampleAuthor);
    const { key } = await createKey(before.queries, { workspace: name, rate: 1, burst: 1 }, sampleAuthor);
    keys.push({ workspaceId: workspace.id, keyId: key.id });
  }
  await before.close();
  const [a, b, c] = keys;
  const store = await storeAt(location);
  const settle = (owner: typeof a, requestId: string) =>
    store.settle(sampleOutcome({ ...owner, requestId, cost: 7n, modelId: `model-${requestId}` }));
  await settle(a, 'a1');
  await keepAs('replica');
  await expect.poll(() => store.status().database).toBe('up');
  // The last second. The key and the model are used for the first time, and get numbers.
  await settle(b, 'b1');
  await expect.poll(() => store.status()).toMatchObject({ database: 'up', journalBytes: 0 });
  await takeOver('replica');
  // Another service is the first with the replica. Its key gets the number that the lost one had.
  const other = await connected();
  onTestFinished(() => other.close());
  await settleBatch(other, [sampleOutcome({ ...c, requestId: 'c1', cost: 7n, modelId: 'model-c1' })]);

  await settle(b, 'b2');
  await expect.poll(() => store.status()).toMatchObject({ database: 'up', journalBytes: 0 });
  const rows = await other.queries.selectFrom('requests').select('request_text').execute();
  expect(rows.map((each) => each.request_text).toSorted()).toEqual(['a1', 'b2', 'c1']);
  for (const name of ['a', 'b', 'c']) expect(await findWorkspace(other.queries, name)).toMatchObject({ balance: 93n });
  expect(await differencesIn(other)).toEqual([]);
});
