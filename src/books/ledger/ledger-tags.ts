import type { Kysely } from 'kysely';
import { listBounds } from '../../core/limits.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import { otherTags as other, type Tag, tagList, tagsIn, tagText } from '../../core/tags.ts';
import { byIds } from '../databases/by-ids.ts';
import type { Schema } from '../databases/schema.ts';
import { readSizes } from './counted-tags.ts';

/** The tags that a request counts as. */
export interface NumberedTags {
  /** In ascending order. */
  readonly numbers: readonly number[];
  /** As `readTags` writes them. */
  readonly text: string | undefined;
}

interface OwnedTag extends Tag {
  readonly workspaceId: string;
}

/** Remembers the numbers of tags. When more than `rememberedTags` are known, all are forgotten and read again. */
export function createTagNumbers(queries: Kysely<Schema>, rememberedTags = 200_000) {
  const numbers = new Map<string, number>();
  /** Names that have all their values, by workspace. Nothing but a budget adds a value to them. */
  const full = new Set<string>();

  function forget(): void {
    numbers.clear();
    full.clear();
  }

  async function read(wanted: readonly OwnedTag[]): Promise<void> {
    const rows = await byIds(distinct(wanted.map(({ value }) => value)), (values) =>
      queries
        .selectFrom('ledger_tags')
        .selectAll()
        .where('workspace_id', 'in', distinct(wanted.map(({ workspaceId }) => workspaceId)))
        .where('name', 'in', distinct(wanted.map(({ name }) => name)))
        .where('value', 'in', values)
        .execute(),
    );
    for (const { workspace_id: workspaceId, name, value, number } of rows) {
      numbers.set(keyOf({ workspaceId, name, value }), Number(number));
    }
  }

  /** Adds tags that the bounds allow. Returns for each given tag the one that stands for it. */
  async function addNew(missing: readonly OwnedTag[]): Promise<ReadonlyMap<string, OwnedTag>> {
    const rooms = await roomsOf(missing);
    const places = new Map(missing.map((tag) => [keyOf(tag), placeOf(tag, rooms)]));
    const added = [...new Map([...places.values()].map((tag) => [keyOf(tag), tag])).values()].filter(
      (tag) => !numbers.has(keyOf(tag)),
    );
    if (added.length === 0) return places;
    await queries
      .insertInto('ledger_tags')
      .values(added.map(({ workspaceId, name, value }) => ({ workspace_id: workspaceId, name, value })))
      .onConflict((conflict) => conflict.columns(['workspace_id', 'name', 'value']).doNothing())
      .execute();
    await read(added);
    return places;
  }

  /** How many values each name has, by workspace. */
  function roomsOf(tags: readonly OwnedTag[]): Promise<Map<string, Map<string, number>>> {
    const unknown = tags.filter((tag) => !full.has(nameKeyOf(tag)));
    return readSizes(queries, distinct(unknown.map(({ workspaceId }) => workspaceId)));
  }

  /** The tag itself while the bounds have room for it, else the one that stands for what is beyond them. */
  function placeOf(tag: OwnedTag, rooms: Map<string, Map<string, number>>): OwnedTag {
    const { workspaceId, name } = tag;
    if (full.has(nameKeyOf(tag))) return { ...tag, value: other };
    const names = rooms.getOrInsertComputed(workspaceId, () => new Map<string, number>());
    const size = names.get(name);
    if (size === undefined && names.size >= listBounds.maxTagNames) return { workspaceId, name: other, value: other };
    // The tag that stands for the others comes beyond the bound.
    if (tag.value === other) return tag;
    if ((size ?? 0) >= listBounds.maxTagValues) {
      full.add(nameKeyOf(tag));
      return { ...tag, value: other };
    }
    names.set(name, (size ?? 0) + 1);
    return tag;
  }

  return {
    forget,
    /** The tags that each request counts as. New tags are numbered, or counted as `other`. */
    number: async (requests: readonly SettledRequest[]): Promise<readonly NumberedTags[]> => {
      const tagged = requests.map(({ workspaceId, tags }) => tagsIn(tags).map((tag) => ({ ...tag, workspaceId })));
      const all = tagged.flat();
      if (all.length === 0) return tagged.map(() => ({ numbers: [], text: undefined }));
      if (numbers.size > rememberedTags) forget();
      const unknown = () => all.filter((tag) => !numbers.has(keyOf(tag)));
      if (unknown().length > 0) await read(unknown());
      const missing = [...new Map(unknown().map((tag) => [keyOf(tag), tag])).values()];
      // In one order in all replicas, so that their insertions cannot deadlock.
      const sorted = missing.toSorted((one, other_) => (keyOf(one) < keyOf(other_) ? -1 : 1));
      const places = sorted.length === 0 ? new Map<string, OwnedTag>() : await addNew(sorted);
      return tagged.map((tags) => {
        const counted = tags.map((tag) => places.get(keyOf(tag)) ?? tag);
        const found = counted.map((tag) => numbers.get(keyOf(tag)));
        return {
          numbers: distinctNumbers(found.filter((number) => number !== undefined)),
          text: tagList(counted),
        };
      });
    },
  };
}

function keyOf({ workspaceId, ...tag }: OwnedTag): string {
  return `${workspaceId} ${tagText(tag)}`;
}

function nameKeyOf({ workspaceId, name }: OwnedTag): string {
  return `${workspaceId} ${name}`;
}

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values)].toSorted();
}

function distinctNumbers(numbers: readonly number[]): readonly number[] {
  return [...new Set(numbers)].toSorted((one, next) => one - next);
}

/** Reads the texts of the tags in rows, by their numbers. */
export async function tagTexts(
  queries: Kysely<Schema>,
  rows: readonly { readonly tags: string }[],
): Promise<ReadonlyMap<string, string>> {
  const numbers = distinct(rows.flatMap(({ tags }) => (tags === '' ? [] : tags.split(','))));
  if (numbers.length === 0) return new Map();
  const found = await byIds(numbers.map(Number), (some) =>
    queries.selectFrom('ledger_tags').select(['number', 'name', 'value']).where('number', 'in', some).execute(),
  );
  return new Map(found.map(({ number, ...tag }) => [String(number), tagText(tag)]));
}
