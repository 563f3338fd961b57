import { type Kysely, sql } from 'kysely';
import type { Authorship } from '../core/administration.ts';
import { type Money, parseUsd } from '../../core/money.ts';
import { byIds } from '../databases/by-ids.ts';
import type { Schema } from '../databases/schema.ts';
import { isSqlite } from '../databases/sql-dialect.ts';
import { recordChange } from './audit.ts';

/** The prices of a model, as decimals in USD per token. */
export interface ModelPrices {
  readonly prompt: string;
  readonly completion: string;
  readonly input_cache_read: string;
}

/** Prices of a token in units of 10⁻¹² USD. */
export type TokenPrices = Readonly<Record<'prompt' | 'cached' | 'completion', Money>>;

export interface RecordedPrices {
  readonly at: number;
  readonly prices: TokenPrices;
}

/** A lock of PostgreSQL that only this function takes. */
const lock = 0x77_70_72_69;

/**
 * Writes the prices that differ from the last known ones into the audit trail, which is the history of prices. Several
 * portals may call it at the same time: they take turns, so each change is written once. Returns the number of changes.
 */
export async function recordModelPrices(
  queries: Kysely<Schema>,
  models: ReadonlyMap<string, ModelPrices>,
  by: Authorship,
): Promise<number> {
  const known = await lastPrices(queries, [...models.keys()]);
  const changed = [...models].filter(([id, prices]) => !isSame(known.get(id), prices));
  if (changed.length === 0) return 0;
  return queries.transaction().execute(async (transaction) => {
    // SQLite locks its file for a transaction that writes.
    if (!isSqlite(transaction)) await sql`select pg_advisory_xact_lock(${sql.lit(lock)})`.execute(transaction);
    const before = await lastPrices(
      transaction,
      changed.map(([id]) => id),
    );
    let count = 0;
    for (const [objectId, { prompt, completion, input_cache_read }] of changed) {
      const after = { prompt, completion, input_cache_read };
      if (isSame(before.get(objectId), after)) continue;
      const change = { action: 'model.price', objectId, workspaceId: undefined, after } as const;
      await recordChange(transaction, { ...change, before: before.get(objectId) }, by);
      count += 1;
    }
    return count;
  });
}

function isSame(one: Readonly<Record<string, unknown>> | undefined, other: ModelPrices): boolean {
  return (['prompt', 'completion', 'input_cache_read'] as const).every((name) => one?.[name] === other[name]);
}

/** The last known prices of each model. */
async function lastPrices(
  queries: Kysely<Schema>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
  const rows = await byIds(ids, (some) =>
    queries
      .selectFrom('audit')
      .select(['object_id', 'after'])
      .where('id', 'in', (newest) =>
        newest
          .selectFrom('audit')
          .select(({ fn }) => fn.max('id').as('id'))
          .where('object_id', 'in', some)
          .where('action', '=', 'model.price')
          .groupBy('object_id'),
      )
      .execute(),
  );
  // oxlint-disable-next-line typescript/consistent-type-assertions -- `recordModelPrices` alone writes these entries.
  return new Map(rows.map(({ object_id: id, after }) => [id, JSON.parse(after) as Readonly<Record<string, unknown>>]));
}

/** The prices of models that the audit trail has, oldest first. */
export async function recordedPrices(
  queries: Kysely<Schema>,
  models: readonly string[],
): Promise<ReadonlyMap<string, readonly RecordedPrices[]>> {
  const rows = await byIds(models, (some) =>
    queries
      .selectFrom('audit')
      .select(['object_id', 'at', 'after'])
      .where('object_id', 'in', some)
      .where('action', '=', 'model.price')
      .orderBy('id')
      .execute(),
  );
  const prices = new Map<string, RecordedPrices[]>();
  for (const { object_id: model, at, after } of rows) {
    // oxlint-disable-next-line typescript/consistent-type-assertions -- `recordModelPrices` alone writes these entries.
    const { prompt, completion, input_cache_read: cached } = JSON.parse(after) as ModelPrices;
    const read = (text: string): Money => parseUsd(text) ?? 0n;
    const of = { prompt: read(prompt), cached: read(cached), completion: read(completion) };
    prices.getOrInsertComputed(model, () => []).push({ at: Number(at), prices: of });
  }
  return prices;
}
