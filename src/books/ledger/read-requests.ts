import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { LedgerFilter } from '../core/administration.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import { firstIdAt, type PackedId, startOf } from '../core/packed-id.ts';
import type { Schema } from '../databases/schema.ts';
import { idDigits, idValue } from '../databases/sql-dialect.ts';
import { tagTexts } from './ledger-tags.ts';
import {
  correlationDigits,
  noUuid,
  type JoinedRequest,
  requestColumns,
  requestOf,
  traitsSql,
} from './stored-request.ts';
import { kindCodes, surfaceCodes } from './usage-rollup.ts';

/** Moments in milliseconds since the Unix epoch. `from` belongs to the range, `to` does not. */
export type Range = ReturnType<typeof rangeOf>;

/** The largest moment that an id can contain. */
const endOfTime = 2 ** 48 - 1;

export function rangeOf({ since = 0, until = endOfTime }: LedgerFilter) {
  return { from: Math.max(0, since), to: Math.min(until, endOfTime) };
}

export interface RangeQuery extends Range {
  /** Only requests of these keys, workspaces, models, outcomes and surfaces. The moments of the filter are ignored. */
  readonly filter: LedgerFilter;
  readonly first: 'newest' | 'oldest';
  /** Most rows. Undefined: all. */
  readonly limit: number | undefined;
  /** Only rows with a lower id. With `newest`, these rows follow the given one. */
  readonly after?: PackedId | undefined;
  /** Only the rows of these ids. */
  readonly only?: readonly PackedId[] | undefined;
}

const directions = { newest: sql`desc`, oldest: sql`asc` } as const;

/** Reads the requests of a range in the order of their ids, which is the order of time. */
export async function readRange(
  queries: Kysely<Schema>,
  { filter, from, to, first, limit, after, only }: RangeQuery,
): Promise<readonly SettledRequest[]> {
  if (from >= to) return [];
  const { workspaceId, keyId, modelId, outcomes, surface, correlationId } = filter;
  const conditions: RawBuilder<unknown>[] = [
    sql`requests.id >= ${idValue(queries, firstIdAt(from))} and requests.id < ${idValue(queries, firstIdAt(to))}`,
  ];
  if (workspaceId !== undefined)
    conditions.push(sql`key in (select number from ledger_keys where workspace_id = ${workspaceId})`);
  if (keyId !== undefined) conditions.push(sql`key = (select number from ledger_keys where key_id = ${keyId})`);
  if (modelId !== undefined) {
    conditions.push(sql`route in (select ledger_routes.number from ledger_routes
      join ledger_models on ledger_models.number = ledger_routes.model where ledger_models.name = ${modelId})`);
  }
  if (outcomes !== undefined)
    conditions.push(sql`${sql.raw(traitsSql.outcome)} in (${sql.join(outcomes.map(kindCodes.codeOf))})`);
  if (surface !== undefined) conditions.push(sql`${sql.raw(traitsSql.surface)} = ${surfaceCodes.codeOf(surface)}`);
  if (correlationId !== undefined) {
    const digits = correlationDigits(correlationId);
    conditions.push(
      digits === noUuid
        ? sql`requests.correlation_text = ${correlationId}`
        : sql`requests.correlation = ${idValue(queries, digits)}`,
    );
  }
  if (after !== undefined) conditions.push(sql`requests.id < ${idValue(queries, after)}`);
  if (only !== undefined) conditions.push(sql`requests.id in (${sql.join(only.map((id) => idValue(queries, id)))})`);
  const columns = requestColumns.map(({ name, type }) =>
    type === 'uuid' ? sql`${idDigits(queries, `requests.${name}`)} as ${sql.ref(name)}` : sql.ref(`requests.${name}`),
  );
  const direction = directions[first];
  const { rows } = await sql<JoinedRequest>`
    select ${sql.join(columns)}, ledger_keys.key_id, ledger_keys.workspace_id,
      ledger_models.name as model_id, ledger_routes.name as route_id
    from (
      select * from requests where ${sql.join(conditions, sql` and `)} order by id ${direction} ${upTo(limit)}
    ) as requests
    join ledger_keys on ledger_keys.number = requests.key
    join ledger_routes on ledger_routes.number = requests.route
    join ledger_models on ledger_models.number = ledger_routes.model
    order by requests.id ${direction}
  `.execute(queries);
  const texts = await tagTexts(queries, rows);
  const textOf = (tags: string): string =>
    tags
      .split(',')
      .flatMap((number) => texts.get(number) ?? [])
      .toSorted()
      .join(',');
  return rows.map((row) => requestOf({ ...row, tag_texts: textOf(row.tags) }));
}

/** Reads the requests of some ids, as far as they are kept, in the order of their ids. */
export async function readIds(queries: Kysely<Schema>, ids: readonly PackedId[]): Promise<readonly SettledRequest[]> {
  if (ids.length === 0) return [];
  const starts = ids.map(startOf);
  const range = { from: Math.min(...starts), to: Math.max(...starts) + 1 };
  return readRange(queries, { ...range, filter: {}, first: 'oldest', limit: undefined, only: ids });
}

function upTo(limit: number | undefined): RawBuilder<unknown> {
  return limit === undefined ? sql`` : sql`limit ${limit}`;
}
