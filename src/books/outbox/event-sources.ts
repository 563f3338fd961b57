import { type Kysely, sql } from 'kysely';
import type { EventKind } from '../../core/event-type.ts';
import { isObject } from '../../core/json.ts';
import { listAudit } from '../accounts/audit.ts';
import { findCredits } from '../accounts/credits.ts';
import { shownAuditEntry, shownCredit } from '../core/shown.ts';
import { type PackedId, firstIdAt, packId } from '../core/packed-id.ts';
import { shownRequest } from '../core/request-fields.ts';
import { closesAt, lastClosed } from '../core/statement.ts';
import type { Schema } from '../databases/schema.ts';
import { idDigits, idValue } from '../databases/sql-dialect.ts';
import { readIds } from '../ledger/read-requests.ts';

/** The facts of an event. `data` is public: never content, a credential or a key's text. */
export interface EventFacts {
  /** The id of the row in the outbox. */
  readonly ref: string;
  /** Unique among the events of a kind, and the same at each delivery and each replay. */
  readonly id: string;
  readonly at: number;
  /** Undefined: it is about no workspace. */
  readonly workspaceId: string | undefined;
  /** Gets the name of the workspace. */
  readonly data: (workspace: string) => object;
}

/** A part of the rows, in their order, for a replay. */
export interface ReplayPage {
  /** Moments in milliseconds since the Unix epoch. `since` belongs to it, `until` does not. */
  readonly since: number;
  readonly until: number;
  /** Rows that follow this one. */
  readonly after: string | undefined;
  readonly limit: number;
}

interface EventSource {
  /** The events of rows, in any order. Rows that are deleted are left out. */
  readonly read: (queries: Kysely<Schema>, refs: readonly string[]) => Promise<readonly EventFacts[]>;
  readonly list: (queries: Kysely<Schema>, page: ReplayPage) => Promise<readonly string[]>;
}

/** The rows of which the events of each kind are made. */
export const eventSources: Readonly<Record<EventKind, EventSource>> = {
  request: { read: readRequests, list: listRequests },
  correction: { read: readCredits, list: listByTime('credits', 'created_at', 'amount < 0') },
  credit: { read: readCredits, list: listByTime('credits', 'created_at', 'amount >= 0') },
  alert: { read: readAlerts, list: listByTime('alerts', 'at', 'percent > 0') },
  audit: { read: readAudit, list: listByTime('audit', 'at', 'true') },
  statement: { read: readStatements, list: listStatements },
};

async function readRequests(queries: Kysely<Schema>, ids: readonly PackedId[]): Promise<readonly EventFacts[]> {
  return (await readIds(queries, ids)).map((outcome) => {
    const { requestId, workspaceId, startedAt, durationMs } = outcome;
    const about = { ref: packId(requestId, outcome).id, id: requestId, at: startedAt + durationMs, workspaceId };
    return { ...about, data: (workspace) => shownRequest({ outcome, workspace }) };
  });
}

/** By the start of the requests: the ledger has no other order. */
async function listRequests(
  queries: Kysely<Schema>,
  { since, until, after, limit }: ReplayPage,
): Promise<readonly PackedId[]> {
  const from =
    after === undefined ? sql`id >= ${idValue(queries, firstIdAt(since))}` : sql`id > ${idValue(queries, after)}`;
  const { rows } = await sql<{ digits: string }>`select ${idDigits(queries, 'id')} as digits from requests
    where ${from} and id < ${idValue(queries, firstIdAt(until))} order by id limit ${limit}`.execute(queries);
  return rows.map(({ digits }) => digits);
}

async function readCredits(queries: Kysely<Schema>, ids: readonly string[]): Promise<readonly EventFacts[]> {
  return (await findCredits(queries, ids)).map(({ workspaceId, credit }) => ({
    ...{ ref: credit.id, id: credit.id, at: credit.createdAt, workspaceId },
    data: (workspace) => ({ ...shownCredit(credit), workspace, workspace_id: workspaceId }),
  }));
}

async function readAlerts(queries: Kysely<Schema>, ids: readonly string[]): Promise<readonly EventFacts[]> {
  const rows = await queries
    .selectFrom('alerts')
    .select(['id', 'at', 'workspace_id', 'body'])
    .where('id', 'in', ids)
    .execute();
  return rows.map(({ id, at, workspace_id: workspaceId, body }) => {
    // oxlint-disable-next-line typescript/consistent-type-assertions -- `recordReached` alone writes this column.
    const { type, data } = JSON.parse(body) as { readonly type: string; readonly data: object };
    return { ref: id, id, at: Number(at), workspaceId, data: () => ({ kind: type.split('.')[0], ...data }) };
  });
}

async function readAudit(queries: Kysely<Schema>, refs: readonly string[]): Promise<readonly EventFacts[]> {
  const entries = await listAudit(queries, { ids: refs.map(Number) }, refs.length);
  return entries.map((entry) => {
    const { id, at, workspaceId } = entry;
    return { ref: String(id), id: `audit_${id}`, at, workspaceId, data: () => shownAuditEntry(entry) };
  });
}

/** `ref`: the month, a space and the id of the workspace. */
const placeOf = sql<string>`month || ' ' || workspace_id`;

async function readStatements(queries: Kysely<Schema>, refs: readonly string[]): Promise<readonly EventFacts[]> {
  const rows = await queries
    .selectFrom('statements')
    .select(['month', 'workspace_id', 'document', placeOf.as('ref')])
    .where(placeOf, 'in', refs)
    .execute();
  return rows.map(({ ref, month, workspace_id: workspaceId, document }) => {
    const data: unknown = JSON.parse(document);
    return {
      ...{ ref, id: `statement_${month}_${workspaceId}`, at: closesAt(month), workspaceId },
      data: () => (isObject(data) ? data : {}),
    };
  });
}

/** By the moments at which months close. */
async function listStatements(
  queries: Kysely<Schema>,
  { since, until, after, limit }: ReplayPage,
): Promise<readonly string[]> {
  const rows = await queries
    .selectFrom('statements')
    .select(placeOf.as('ref'))
    .where('month', '>', lastClosed(since - 1))
    .where('month', '<=', lastClosed(until - 1))
    .where(placeOf, '>', after ?? '')
    .orderBy('ref')
    .limit(limit)
    .execute();
  return rows.map(({ ref }) => ref);
}

/** Lists a table by a column of moments, and rows of the same moment by their ids. */
function listByTime(
  table: 'credits' | 'alerts' | 'audit',
  moment: 'created_at' | 'at',
  condition: string,
): EventSource['list'] {
  const [rows, at] = [sql.table(table), sql.ref(moment)];
  return async (queries, { since, until, after, limit }) => {
    const from =
      after === undefined
        ? sql`${at} >= ${BigInt(since)}`
        : sql`(${at}, id) > (select ${at}, id from ${rows} where id = ${after})`;
    const found = await sql<{ id: string | bigint }>`select id from ${rows}
      where ${from} and ${at} < ${BigInt(until)} and ${sql.raw(condition)} order by ${at}, id limit ${limit}`.execute(
      queries,
    );
    return found.rows.map(({ id }) => String(id));
  };
}
