import type { SelectQueryBuilder } from 'kysely';
import { refusal } from '../core/operator-refusals.ts';
import type { Schema } from '../databases/schema.ts';

interface BoundedList {
  readonly list: string;
  readonly entries: string;
  readonly field: string;
  /** What to do instead of an entry that there is no room for. */
  readonly remedy?: string;
}

/** Like `refuseBeyond`, for the number of rows. Entries that are added at the same moment can pass the bound together. */
export async function refuseMore<Tables extends keyof Schema>(
  rows: SelectQueryBuilder<Schema, Tables, object>,
  max: number,
  list: BoundedList,
): Promise<void> {
  const { size } = await rows.select(({ fn }) => fn.countAll<number | bigint>().as('size')).executeTakeFirstOrThrow();
  refuseBeyond(size, max, list);
}

/** Throws a `Refusal` if a list has as many entries as it may have, before another one is added. */
export function refuseBeyond(
  size: number | bigint,
  max: number,
  { list, entries, field, remedy = 'Remove one first.' }: BoundedList,
): void {
  if (size >= max) throw refusal('list_full', { list, max, entries, remedy }, { field });
}
