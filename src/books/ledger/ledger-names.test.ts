import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sampleAuthor } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import { createKey } from '../accounts/keys.ts';
import { createWorkspace } from '../accounts/workspaces.ts';
import { migrate } from '../databases/migrations.ts';
import type { Schema } from '../databases/schema.ts';
import { sqliteDialect } from '../databases/sqlite/dialect.ts';
import { createLedgerNames } from './ledger-names.ts';

/** A database with two keys, requests of them, and the statements since the last look: their first word and their values. */
async function setUp() {
  const statements: string[] = [];
  const queries = new Kysely<Schema>({
    dialect: sqliteDialect(new DatabaseSync(':memory:')),
    log: ({ query }) => void statements.push([query.sql.split(' ', 1)[0], ...query.parameters].join(' ')),
  });
  onTestFinished(() => queries.destroy());
  await migrate(queries);
  const { id: workspaceId } = await createWorkspace(
    queries,
    { name: 'acme', credit: 0n, maxInFlight: 1 },
    sampleAuthor,
  );
  const make = () => createKey(queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor);
  const [key = '', otherKey = ''] = [(await make()).key.id, (await make()).key.id].toSorted();
  const request = (changes: Partial<SettledRequest> = {}): SettledRequest =>
    sampleOutcome({ workspaceId, keyId: key, modelId: 'm', routeId: 'm@a', ...changes });
  const asked = (): readonly string[] => statements.splice(0);
  asked();
  return { queries, key, otherKey, request, asked };
}

describe('the numbers of names', () => {
  it('are given once, and the database is not asked for those that are known', async () => {
    const { queries, key, request, asked } = await setUp();
    const names = createLedgerNames(queries);
    const numbers = { key: 1, model: 1, route: 1, tags: [] };
    expect(await names.number([request(), request()])).toEqual([numbers, numbers]);
    expect(asked()).toEqual([
      ...[`select ${key}`, `insert ${key}`, `select ${key}`],
      ...['select m', 'insert m', 'select m'],
      ...['select m@a 1', 'insert 1 m@a', 'select m@a 1'],
    ]);
    expect(await names.number([request()])).toEqual([numbers]);
    expect(asked()).toEqual([]);
  });

  it('are those that another process gave', async () => {
    const { queries, key, request, asked } = await setUp();
    const given = await createLedgerNames(queries).number([request()]);
    asked();
    expect(await createLedgerNames(queries).number([request()])).toEqual(given);
    expect(asked()).toEqual([`select ${key}`, 'select m', 'select m@a 1']);
  });

  it('are asked for where they are not known, and for no others', async () => {
    const { queries, otherKey, request, asked } = await setUp();
    const names = createLedgerNames(queries);
    await names.number([request()]);
    asked();
    const mixed = [request(), request({ keyId: otherKey, modelId: 'n', routeId: 'm@a' })];
    expect(await names.number(mixed)).toEqual([
      { key: 1, model: 1, route: 1, tags: [] },
      { key: 2, model: 2, route: 2, tags: [] },
    ]);
    expect(asked()).toEqual([
      ...[`select ${otherKey}`, `insert ${otherKey}`, `select ${otherKey}`],
      ...['select n', 'insert n', 'select n'],
      ...['select m@a 2', 'insert 2 m@a', 'select m@a 2'],
    ]);
  });

  it('are given in the order of the names, so that two processes lock them in one order', async () => {
    const { queries, key, otherKey, request, asked } = await setUp();
    const names = createLedgerNames(queries);
    const keys = [otherKey, key, otherKey];
    await names.number(['b', 'a', 'c'].map((modelId, at) => request({ modelId, keyId: keys[at] ?? '', routeId: 'x' })));
    await names.number(['c', 'a', 'b'].map((routeId) => request({ modelId: 'a', routeId })));
    expect(asked().filter((statement) => statement.startsWith('insert'))).toEqual([
      `insert ${key} ${otherKey}`,
      'insert a b c',
      'insert 1 x 2 x 3 x',
      'insert 1 a 1 b 1 c',
    ]);
  });

  it('are read again after they were forgotten', async () => {
    const { queries, key, request, asked } = await setUp();
    const names = createLedgerNames(queries);
    await names.number([request()]);
    // Another server took over, which had numbered the model before.
    await queries.deleteFrom('ledger_routes').execute();
    await queries.updateTable('ledger_models').set({ number: 7 }).execute();
    asked();
    names.forget();
    expect(await names.number([request()])).toEqual([{ key: 1, model: 7, route: 1, tags: [] }]);
    expect(asked().slice(0, 3)).toEqual([`select ${key}`, 'select m', 'select m@a 7']);
  });

  it('are forgotten when there are more than are remembered', async () => {
    const { queries, request, asked } = await setUp();
    const names = createLedgerNames(queries, 2);
    const ofModels = (...models: readonly string[]) => models.map((modelId) => request({ modelId, routeId: 'x' }));
    await names.number(ofModels('a', 'b'));
    asked();
    await names.number(ofModels('a', 'b'));
    expect(asked()).toEqual([]);
    await names.number(ofModels('c'));
    asked();
    const [first] = await names.number(ofModels('a'));
    expect(first).toEqual({ key: 1, model: 1, route: 1, tags: [] });
    expect(asked()).toEqual(['select a', 'select x 1']);
  });
});
