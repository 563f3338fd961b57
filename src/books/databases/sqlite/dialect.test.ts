import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { Kysely, sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CommitInDoubt } from '../database.ts';
import { sqliteDialect } from './dialect.ts';

interface Numbers {
  readonly numbers: { readonly id: string; readonly amount: bigint };
}

function open(): { readonly queries: Kysely<Numbers>; readonly raw: DatabaseSync } {
  const raw = new DatabaseSync(':memory:');
  raw.exec('create table numbers (id text primary key, amount bigint)');
  const queries = new Kysely<Numbers>({ dialect: sqliteDialect(raw) });
  onTestFinished(() => queries.destroy());
  return { queries, raw };
}

describe('the SQLite dialect', () => {
  it('writes and reads every 64-bit integer exactly', async () => {
    const { queries } = open();
    await fc.assert(
      fc.asyncProperty(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.uuid(), async (amount, id) => {
        await queries.insertInto('numbers').values({ id, amount }).execute();
        const row = await queries.selectFrom('numbers').select('amount').where('id', '=', id).executeTakeFirstOrThrow();
        expect(row.amount).toBe(amount);
      }),
    );
  });

  it('binds whole numbers as integers, where SQLite alone would divide floats', async () => {
    const { queries, raw } = open();
    const { rows } = await sql<{ half: bigint }>`select 7 / ${2} as half`.execute(queries);
    expect(rows[0]?.half).toBe(3n);
    expect(raw.prepare('select 7 / ? as half').get(2)).toEqual({ half: 3.5 });
  });

  it('keeps nothing of a transaction that failed', async () => {
    const { queries } = open();
    const failing = queries.transaction().execute(async (transaction) => {
      await transaction.insertInto('numbers').values({ id: 'a', amount: 1n }).execute();
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await queries.selectFrom('numbers').selectAll().execute()).toEqual([]);
  });

  it('keeps nothing of a transaction that is refused at its commit, and is in no doubt about it', async () => {
    const { queries, raw } = open();
    raw.exec('create table parts (of text references numbers (id) deferrable initially deferred)');
    const failing = queries
      .transaction()
      .execute((transaction) => sql`insert into parts values ('a')`.execute(transaction));
    const error: unknown = await failing.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: 'FOREIGN KEY constraint failed' });
    expect(error).not.toBeInstanceOf(CommitInDoubt);
    expect(raw.prepare('select count(*) as parts from parts').get()).toEqual({ parts: 0 });
  });

  it('runs one transaction at a time on its one connection', async () => {
    const { queries } = open();
    await queries.insertInto('numbers').values({ id: 'sum', amount: 0n }).execute();
    const add = () =>
      queries.transaction().execute(async (transaction) => {
        const { amount } = await transaction.selectFrom('numbers').select('amount').executeTakeFirstOrThrow();
        await transaction
          .updateTable('numbers')
          .set({ amount: amount + 1n })
          .execute();
      });
    await Promise.all(Array.from({ length: 50 }, add));
    expect(await queries.selectFrom('numbers').select('amount').execute()).toEqual([{ amount: 50n }]);
  });

  it('answers right past the number of statements it keeps', async () => {
    const { queries } = open();
    for (const round of [1, 2]) {
      for (let index = 0; index < 450; index += 1) {
        const { rows } = await sql<{ value: bigint }>`select ${sql.lit(index)} * ${round} as value`.execute(queries);
        expect(rows[0]?.value).toBe(BigInt(index * round));
      }
    }
  });

  it('counts the rows a change touched', async () => {
    const { queries } = open();
    await queries
      .insertInto('numbers')
      .values([
        { id: 'a', amount: 1n },
        { id: 'b', amount: 2n },
      ])
      .execute();
    const [result] = await queries.updateTable('numbers').set({ amount: 3n }).execute();
    expect(result?.numUpdatedRows).toBe(2n);
  });

  it('refuses a value that no column holds', async () => {
    const { queries } = open();
    await expect(sql`select ${true}`.execute(queries)).rejects.toThrow('boolean');
  });
});
