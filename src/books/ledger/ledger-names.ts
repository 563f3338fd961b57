import type { Kysely } from 'kysely';
import type { SettledRequest } from '../../core/settled-request.ts';
import type { Schema } from '../databases/schema.ts';
import { createTagNumbers } from './ledger-tags.ts';
import type { NumberedNames } from './stored-request.ts';

export interface LedgerNames {
  /**
   * Finds the numbers of the names in rows, and numbers new names. Throws a RangeError if there is no such key, or if
   * it belongs to another workspace. Call it before the transaction of the rows: a number without rows does no harm,
   * but a remembered number that was rolled back would.
   */
  readonly number: (requests: readonly SettledRequest[]) => Promise<readonly NumberedNames[]>;
  /**
   * Reads all numbers again, for example after a failover: a replica that took over may have lost the newest numbers,
   * and may give them to other names.
   */
  readonly forget: () => void;
}

/**
 * Remembers the numbers of one database. They never change, unless the database itself goes back in time. When more than
 * `rememberedNames` of a kind are known, all of that kind are forgotten and read again.
 */
export function createLedgerNames(queries: Kysely<Schema>, rememberedNames = 200_000): LedgerNames {
  const keys = new Map<string, NumberedKey>();
  const models = new Map<string, number>();
  const routes = new Map<string, number>();
  const tags = createTagNumbers(queries, rememberedNames);

  async function readKeys(ids: readonly string[]): Promise<void> {
    const rows = await queries.selectFrom('ledger_keys').selectAll().where('key_id', 'in', ids).execute();
    for (const row of rows) keys.set(row.key_id, { number: Number(row.number), workspaceId: row.workspace_id });
  }

  const numberKeys = (requests: readonly SettledRequest[]): Promise<void> =>
    numberNew({
      unknown: () => distinct(requests.map(({ keyId }) => keyId).filter((id) => !keys.has(id))),
      read: readKeys,
      insert: (missing) =>
        queries
          .insertInto('ledger_keys')
          .columns(['key_id', 'workspace_id'])
          .expression((select) =>
            select.selectFrom('keys').select(['id', 'workspace_id']).where('id', 'in', missing).orderBy('id'),
          )
          .onConflict((conflict) => conflict.column('key_id').doNothing())
          .execute(),
    });

  async function readModels(names: readonly string[]): Promise<void> {
    const rows = await queries.selectFrom('ledger_models').selectAll().where('name', 'in', names).execute();
    for (const row of rows) models.set(row.name, Number(row.number));
  }

  const numberModels = (requests: readonly SettledRequest[]): Promise<void> =>
    numberNew({
      unknown: () => distinct(requests.map(({ modelId }) => modelId).filter((name) => !models.has(name))),
      read: readModels,
      insert: (missing) =>
        queries
          .insertInto('ledger_models')
          .values(missing.map((name) => ({ name })))
          .onConflict((conflict) => conflict.column('name').doNothing())
          .execute(),
    });

  async function readRoutes(wanted: readonly RouteName[]): Promise<void> {
    const rows = await queries
      .selectFrom('ledger_routes')
      .selectAll()
      .where('name', 'in', distinct(wanted.map(({ name }) => name)))
      .where('model', 'in', distinct(wanted.map(({ model }) => model)))
      .execute();
    for (const { model, name, number } of rows) routes.set(routeKey({ model: Number(model), name }), Number(number));
  }

  const numberRoutes = (requests: readonly SettledRequest[]): Promise<void> =>
    numberNew({
      unknown: () => {
        const missing = new Map(requests.map(routeOf).map((route) => [routeKey(route), route]));
        return distinct([...missing.keys()].filter((key) => !routes.has(key))).flatMap((key) => missing.get(key) ?? []);
      },
      read: readRoutes,
      insert: (missing) =>
        queries
          .insertInto('ledger_routes')
          .values(missing)
          .onConflict((conflict) => conflict.columns(['model', 'name']).doNothing())
          .execute(),
    });

  function routeOf({ modelId, routeId }: SettledRequest): RouteName {
    return { model: known(models.get(modelId)), name: routeId ?? '' };
  }

  return {
    forget: () => {
      for (const map of [keys, models, routes]) map.clear();
      tags.forget();
    },
    number: async (requests) => {
      for (const map of [keys, models, routes]) if (map.size > rememberedNames) map.clear();
      await numberKeys(requests);
      await numberModels(requests);
      await numberRoutes(requests);
      const tagged = await tags.number(requests);
      return requests.map((request, index) => {
        const route = routeOf(request);
        return {
          key: keyNumber(keys.get(request.keyId), request),
          model: route.model,
          route: known(routes.get(routeKey(route))),
          tags: tagged[index]?.numbers ?? [],
          tagText: tagged[index]?.text,
        };
      });
    },
  };
}

interface NumberedKey {
  readonly number: number;
  readonly workspaceId: string;
}

function keyNumber(key: NumberedKey | undefined, { keyId, workspaceId }: SettledRequest): number {
  if (key === undefined) throw new RangeError(`there is no key ${keyId}`);
  if (key.workspaceId === workspaceId) return key.number;
  throw new RangeError(`the key ${keyId} is not of the workspace ${workspaceId}`);
}

interface Numbering<Name> {
  /** The names that have no remembered number, sorted, each once. */
  readonly unknown: () => readonly Name[];
  /** Remembers the numbers that the database has. */
  readonly read: (names: readonly Name[]) => Promise<void>;
  readonly insert: (names: readonly Name[]) => Promise<unknown>;
}

async function numberNew<Name>({ unknown, read, insert }: Numbering<Name>): Promise<void> {
  const unread = unknown();
  if (unread.length > 0) await read(unread);
  const missing = unknown();
  if (missing.length === 0) return;
  await insert(missing);
  await read(missing);
}

/** A route of a model; its name is empty for requests that no route answered. */
interface RouteName {
  readonly model: number;
  readonly name: string;
}

function routeKey({ model, name }: RouteName): string {
  return `${model} ${name}`;
}

function distinct<Value extends string | number>(values: readonly Value[]): readonly Value[] {
  return [...new Set(values)].toSorted((one, other) => (one < other ? -1 : 1));
}

function known(number: number | undefined): number {
  if (number === undefined) throw new Error('a name that was just numbered has no number');
  return number;
}
