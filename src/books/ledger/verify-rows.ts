import { type Kysely, type RawBuilder, sql } from 'kysely';
import { firstIdAt, startOf } from '../core/packed-id.ts';
import type { Schema } from '../databases/schema.ts';
import { idDigits, idValue } from '../databases/sql-dialect.ts';
import { traitsSql } from './stored-request.ts';
import {
  type StoredHistogram,
  histogramBounds,
  histogramColumns,
  periodMs,
  usageMeasures,
  usageSumColumns,
} from './usage-rollup.ts';

/** An hour whose rollup differs from the requests that are kept. */
export interface RowDifference {
  /** First moment of the UTC hour, milliseconds since the Unix epoch. */
  readonly hour: number;
  /** What differs, by name. */
  readonly measures: readonly string[];
}

const hourMs = periodMs.usage_hours;

/** Compares requests with rollups in all hours from `since` on. `since` must be the beginning of an hour. */
export async function verifyRows(
  queries: Kysely<Schema>,
  since: number,
): Promise<{ readonly hours: number; readonly rowDifferences: readonly RowDifference[] }> {
  const rowDifferences: RowDifference[] = [];
  let hours = 0;
  for (let from = since; ;) {
    const hour = await nextHour(queries, from);
    if (hour === undefined) return { hours, rowDifferences };
    const measures = await verifyHour(queries, hour);
    if (measures.length > 0) rowDifferences.push({ hour, measures });
    hours += 1;
    from = hour + hourMs;
  }
}

/** The first hour from a moment on that has a request or a rollup; undefined when there is none. */
export async function nextHour(queries: Kysely<Schema>, from: number): Promise<number | undefined> {
  const usage = await sql<{ period: number | bigint }>`
    select period from usage_hours where period >= ${Math.ceil(from / hourMs)} order by period limit 1
  `.execute(queries);
  const request = await sql<{ id: string }>`
    select ${idDigits(queries, 'id')} as id from requests where id >= ${idValue(queries, firstIdAt(from))}
    order by requests.id limit 1
  `.execute(queries);
  const found = [
    ...usage.rows.map((row) => Number(row.period) * hourMs),
    ...request.rows.map((row) => Math.floor(startOf(row.id) / hourMs) * hourMs),
  ];
  return found.length === 0 ? undefined : Math.min(...found);
}

/** How many requests an hour has by its rollup. */
export async function requestsIn(queries: Kysely<Schema>, hour: number): Promise<number> {
  const { rows } = await sql<{ requests: number | bigint }>`
    select cast(coalesce(sum(requests), 0) as bigint) as requests from usage_hours where period = ${hour / hourMs}
  `.execute(queries);
  return Number(rows[0]?.requests ?? 0);
}

/** Compares the requests of an hour with its rollup; returns the names of the measures that differ. */
export async function verifyHour(queries: Kysely<Schema>, hour: number): Promise<readonly string[]> {
  const verifying = verifyHourInSlices(queries, hour, hourMs);
  for (;;) {
    const { done, value } = await verifying.next();
    if (done) return value;
  }
}

/**
 * Compares an hour in slices of time, so that no statement takes long, and yields after each slice. A settlement
 * between two slices can look like a difference.
 */
export async function* verifyHourInSlices(
  queries: Kysely<Schema>,
  hour: number,
  sliceMs: number,
): AsyncGenerator<void, readonly string[]> {
  const sums = new Map<string, readonly bigint[]>();
  for (let from = hour; from < hour + hourMs; from += sliceMs) {
    const to = Math.min(from + sliceMs, hour + hourMs);
    add(sums, (await requestsSummed(queries, { from, to }).execute(queries)).rows, 1);
    yield;
  }
  const usage = await sql<MeasuredRow>`select * from usage_hours where period = ${hour / hourMs}`.execute(queries);
  add(sums, usage.rows, -1);
  return usageMeasures.filter((_, index) => [...sums.values()].some((measures) => measures[index] !== 0n));
}

type MeasuredRow = Readonly<Record<string, number | bigint | string>>;

/** Adds rows to the sums of their groups, or subtracts them. */
function add(sums: Map<string, readonly bigint[]>, rows: readonly MeasuredRow[], sign: 1 | -1): void {
  for (const row of rows) {
    const name = [row['key'], row['model'], row['surface'], row['outcome']].join(' ');
    const measures = sums.get(name) ?? usageMeasures.map(() => 0n);
    sums.set(
      name,
      measures.map((measure, index) => measure + BigInt(sign) * BigInt(row[usageMeasures[index] ?? ''] ?? 0)),
    );
  }
}

/** The measures of a row of differences that are not zero. */
export function differingMeasures(row: Readonly<Record<string, unknown>>): readonly string[] {
  return usageMeasures.filter((measure) => Number(row[measure]) !== 0);
}

/**
 * The sums of the requests of a period, computed by the database and not by the code that counted them at settlement.
 */
function requestsSummed(
  queries: Kysely<Schema>,
  { from, to }: { readonly from: number; readonly to: number },
): RawBuilder<MeasuredRow> {
  const sums = usageSumColumns.map((column) => {
    switch (column) {
      case 'requests':
        return sql`count(*) as requests`;
      case 'cached_tokens':
      case 'reasoning_tokens':
      case 'web_searches':
        return sql`coalesce(sum(${sql.ref(column)}) filter (where ${sql.ref(column)} >= 0), 0) as ${sql.ref(column)}`;
      case 'prompt_tokens':
      case 'completion_tokens':
      case 'cost':
        return sql`sum(${sql.ref(column)}) as ${sql.ref(column)}`;
    }
  });
  const buckets = [...bucketsOf('first_token', 'first_token_ms'), ...bucketsOf('duration', 'duration_ms')];
  const [surface, outcome] = [sql.raw(traitsSql.surface), sql.raw(traitsSql.outcome)];
  // Grouped by route, so that the model is looked up for each sum and not for each request.
  const ids = sql`id >= ${idValue(queries, firstIdAt(from))} and id < ${idValue(queries, firstIdAt(to))}`;
  return sql<MeasuredRow>`select summed.*, ledger_routes.model from (
      select key, route, ${surface} as surface, ${outcome} as outcome, ${sql.join([...sums, ...buckets])}
      from requests where ${ids} group by key, route, ${surface}, ${outcome}
    ) as summed join ledger_routes on ledger_routes.number = summed.route`;
}

function bucketsOf(histogram: StoredHistogram, column: string): readonly RawBuilder<unknown>[] {
  const bounds: readonly number[] = histogramBounds[histogram];
  const time = sql.ref(column);
  return histogramColumns(histogram).map((name, index) => {
    const [above, bound] = [bounds[index - 1] ?? -1, bounds[index]];
    const within = bound === undefined ? sql`` : sql` and ${time} <= ${sql.lit(bound)}`;
    return sql`count(*) filter (where ${time} > ${sql.lit(above)}${within}) as ${sql.ref(name)}`;
  });
}
