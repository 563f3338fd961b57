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
  const keys = new Map<string, { readonly number: number; readonly workspaceId: string }>();
  const models = new Map<string, number>();
  const routes = new Map<string, number>();
  const tags = createTagNumbers(queries, rememberedNames);

  function forgetMany(): void {
    for (const map of [keys, models, routes]) if (map.size > rememberedNames) map.clear();
  }

  async function readKeys(ids: readonly string[]): Promise<void> {
    const rows = await queries.selectFrom('ledger_keys').selectAll().where('key_id', 'in', ids).execute();
    for (const row of rows) keys.set(row.key_id, { number: Number(row.number), workspaceId: row.workspace_id });
  }

  async function numberKeys(requests: readonly SettledRequest[]): Promise<void> {
    const unknown = () => distinct(requests.map(({ keyId }) => keyId).filter((id) => !keys.has(id)));
    if (unknown().length > 0) await readKeys(unknown());
    const missing = unknown();
    if (missing.length === 0) return;
    await queries
      .insertInto('ledger_keys')
      .columns(['key_id', 'workspace_id'])
      .expression((select) =>
        select.selectFrom('keys').select(['id', 'workspace_id']).where('id', 'in', missing).orderBy('id'),
      )
      .onConflict((conflict) => conflict.column('key_id').doNothing())
      .execute();
    await readKeys(missing);
  }

  async function readModels(names: readonly string[]): Promise<void> {
    const rows = await queries.selectFrom('ledger_models').selectAll().where('name', 'in', names).execute();
    for (const row of rows) models.set(row.name, Number(row.number));
  }

  async function numberModels(requests: readonly SettledRequest[]): Promise<void> {
    const unknown = () => distinct(requests.map(({ modelId }) => modelId).filter((name) => !models.has(name)));
    if (unknown().length > 0) await readModels(unknown());
    const missing = unknown();
    if (missing.length === 0) return;
    await queries
      .insertInto('ledger_models')
      .values(missing.map((name) => ({ name })))
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute();
    await readModels(missing);
  }

  async function readRoutes(wanted: readonly RouteName[]): Promise<void> {
    const rows = await queries
      .selectFrom('ledger_routes')
      .selectAll()
      .where('name', 'in', distinct(wanted.map(({ name }) => name)))
      .where('model', 'in', distinct(wanted.map(({ model }) => model)))
      .execute();
    for (const { model, name, number } of rows) routes.set(routeKey({ model: Number(model), name }), Number(number));
  }

  async function numberRoutes(requests: readonly SettledRequest[]): Promise<void> {
    const unknown = () => {
      const missing = requests.map(routeOf).filter((route) => !routes.has(routeKey(route)));
      return [...new Map(missing.map((route) => [routeKey(route), route])).values()];
    };
    if (unknown().length > 0) await readRoutes(unknown());
    const missing = unknown().toSorted((one, other) => (routeKey(one) < routeKey(other) ? -1 : 1));
    if (missing.length === 0) return;
    await queries
      .insertInto('ledger_routes')
      .values(missing)
      .onConflict((conflict) => conflict.columns(['model', 'name']).doNothing())
      .execute();
    await readRoutes(missing);
  }

  function routeOf({ modelId, routeId }: SettledRequest): RouteName {
    return { model: known(models.get(modelId)), name: routeId ?? '' };
  }

  return {
    forget: () => {
      for (const map of [keys, models, routes]) map.clear();
      tags.forget();
    },
    number: async (requests) => {
      forgetMany();
      await numberKeys(requests);
      await numberModels(requests);
      await numberRoutes(requests);
      const tagged = await tags.number(requests);
      return requests.map((request, index) => {
        const { keyId, workspaceId } = request;
        const key = keys.get(keyId);
        if (key === undefined) throw new RangeError(`there is no key ${keyId}`);
        if (key.workspaceId !== workspaceId) {
          throw new RangeError(`the key ${keyId} is not of the workspace ${workspaceId}`);
        }
        const route = routeOf(request);
        return {
          key: key.number,
          model: route.model,
          route: known(routes.get(routeKey(route))),
          tags: tagged[index]?.numbers ?? [],
          tagText: tagged[index]?.text,
        };
      });
    },
  };
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
