import { type Kysely, sql } from 'kysely';
import { surfaces } from '../../core/dialect.ts';
import type { CountedRefusal } from '../../core/refused-request.ts';
import { cutPage, type LedgerFilter, type Page, type PageRequest } from '../core/administration.ts';
import { firstIdAt, packId, startOf } from '../core/packed-id.ts';
import { maxSamples, minuteMs, type RefusalRow, refusalsOf } from '../core/refusal.ts';
import type { Schema } from '../databases/schema.ts';
import { isSqlite } from '../databases/sql-dialect.ts';
import { rangeOf } from './read-requests.ts';

/** Rows in a statement, because SQLite has a maximum number of parameters. */
const maxRowsInStatement = 250;
/** Maximum number of rows that are read in search of an id. */
const maxFound = 100;

/** Adds to the counts of rows, in the order of their keys: two services that add to the same rows cannot deadlock. */
export async function writeRefusals(queries: Kysely<Schema>, rows: readonly RefusalRow[]): Promise<void> {
  const keyOf = ({ minute, key_id: key, model, code }: RefusalRow) => [String(minute), key, model, code].join(' ');
  const ordered = rows.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  for (let from = 0; from < ordered.length; from += maxRowsInStatement) {
    await queries
      .insertInto('refusals')
      .values(ordered.slice(from, from + maxRowsInStatement))
      .onConflict((conflict) =>
        conflict.columns(['minute', 'key_id', 'model', 'code']).doUpdateSet({
          count: sql<bigint>`refusals.count + excluded.count`,
          samples: sql<string>`case when refusals.count < ${sql.lit(maxSamples)} then refusals.samples || excluded.samples else refusals.samples end`,
        }),
      )
      .execute();
  }
}

/** Which refusals are wanted. `search`: the id of a request, or an `x-request-id`. */
export interface RefusalFilter extends Omit<LedgerFilter, 'outcomes' | 'correlationId' | 'tagName'> {
  readonly search?: string | undefined;
}

const positionOf = (refusal: CountedRefusal): string => packId(refusal.requestId, refusal).id;

/** Lists refused requests, newest first: of each row the first one, or those that are searched for. */
export async function pageOfRefusals(
  queries: Kysely<Schema>,
  filter: RefusalFilter,
  { limit, cursor }: PageRequest,
): Promise<Page<CountedRefusal>> {
  const { workspaceId, keyId, modelId, surface, search } = filter;
  const { from, to } = rangeOf(filter);
  let query = queries
    .selectFrom('refusals')
    .selectAll()
    .where('first_id', '>=', firstIdAt(from))
    .where('first_id', '<', firstIdAt(to))
    .orderBy('first_id', 'desc')
    .limit(search === undefined ? limit + 1 : maxFound);
  if (cursor !== undefined && search === undefined) query = query.where('first_id', '<', cursor);
  if (workspaceId !== undefined) query = query.where('workspace_id', '=', workspaceId);
  if (keyId !== undefined) query = query.where('key_id', '=', keyId);
  if (modelId !== undefined) query = query.where('model', '=', modelId);
  if (surface !== undefined && search === undefined)
    query = query.where(firstSample(queries), 'like', `%,"surface":"${surface}",%`);
  if (search !== undefined) {
    const moment = momentOf(search);
    if (moment !== undefined) query = query.where('minute', '=', BigInt(Math.floor(moment / minuteMs)));
    query = query.where('samples', 'like', `%"${search.replaceAll(/[%_]/g, '_')}"%`);
  }
  const found = (await query.execute()).flatMap((row) => {
    const samples = refusalsOf(row);
    if (search === undefined) return samples.slice(0, 1);
    return samples.filter(
      (one) =>
        (one.requestId === search || one.correlationId === search) &&
        (surface === undefined || one.surface === surface),
    );
  });
  const ordered = found
    .filter((refusal) => cursor === undefined || positionOf(refusal) < cursor)
    .toSorted((one, other) => (positionOf(one) < positionOf(other) ? 1 : -1));
  return cutPage(ordered, limit, positionOf);
}

/** The line of a row's first request, which a list shows. In JSON, no text of a caller can contain a quote as a field has it. */
function firstSample(queries: Kysely<Schema>) {
  return isSqlite(queries)
    ? sql<string>`substr(samples, 1, instr(samples, char(10)))`
    : sql<string>`split_part(samples, chr(10), 1)`;
}

/** The refused request with this id; if there is none, those with this `x-request-id`, newest first. */
export async function findRefusals(queries: Kysely<Schema>, id: string): Promise<readonly CountedRefusal[]> {
  const { items } = await pageOfRefusals(queries, { search: id }, { limit: maxFound, cursor: undefined });
  const exact = items.filter(({ requestId }) => requestId === id);
  return exact.length > 0 ? exact : items;
}

/** When the request with this id came, if Weir has made the id. */
function momentOf(requestId: string): number | undefined {
  for (const surface of surfaces) {
    const { id, isOwn } = packId(requestId, { surface, startedAt: 0 });
    if (isOwn) return startOf(id);
  }
  return undefined;
}
