import { type Kysely, sql } from 'kysely';
import { listBounds } from '../../core/limits.ts';
import { type CountedTags, otherTags, tagOf } from '../../core/tags.ts';
import { byIds } from '../databases/by-ids.ts';
import type { Schema } from '../databases/schema.ts';

/**
 * What admission needs to count tags as the ledger does, by workspace: for those with a budget of `other`, given the
 * tags that have budgets. Workspaces with room for all tags of these names are missing, and those without such a budget.
 */
export async function readCountedTags(
  queries: Kysely<Schema>,
  budgeted: ReadonlyMap<string, Iterable<string>>,
): Promise<ReadonlyMap<string, CountedTags>> {
  /** The names whose `other` has a budget, by workspace. */
  const wanted = new Map<string, ReadonlySet<string>>();
  for (const [workspaceId, tags] of budgeted) {
    const names = [...tags].flatMap((text) => {
      const tag = tagOf(text);
      return tag?.value === otherTags ? [tag.name] : [];
    });
    if (names.length > 0) wanted.set(workspaceId, new Set(names));
  }
  const counted = new Map<string, CountedTags>();
  for (const [workspaceId, sizes] of await readSizes(queries, [...wanted.keys()])) {
    const names = wanted.get(workspaceId) ?? new Set<string>();
    const full = [...names].filter((name) => (sizes.get(name) ?? 0) >= listBounds.maxTagValues);
    const isFull = names.has(otherTags) && sizes.size >= listBounds.maxTagNames;
    if (!isFull && full.length === 0) continue;
    const values = await readValues(queries, workspaceId, full);
    counted.set(workspaceId, { names: isFull ? new Set(sizes.keys()) : undefined, values });
  }
  return counted;
}

/** How many values each name has, by workspace. */
export async function readSizes(
  queries: Kysely<Schema>,
  workspaceIds: readonly string[],
): Promise<Map<string, Map<string, number>>> {
  const sizes = new Map<string, Map<string, number>>();
  const rows = await byIds(workspaceIds, (some) =>
    queries
      .selectFrom('ledger_tags')
      .select(['workspace_id', 'name', sql<number | bigint>`count(*)`.as('size')])
      .where('workspace_id', 'in', some)
      .groupBy(['workspace_id', 'name'])
      .execute(),
  );
  for (const { workspace_id: id, name, size } of rows) {
    sizes.getOrInsertComputed(id, () => new Map<string, number>()).set(name, Number(size));
  }
  return sizes;
}

async function readValues(
  queries: Kysely<Schema>,
  workspaceId: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const values = new Map(names.map((name) => [name, new Set<string>()]));
  const rows = await byIds(names, (some) =>
    queries
      .selectFrom('ledger_tags')
      .select(['name', 'value'])
      .where('workspace_id', '=', workspaceId)
      .where('name', 'in', some)
      .execute(),
  );
  for (const { name, value } of rows) values.get(name)?.add(value);
  return values;
}
