import { type Kysely, sql } from 'kysely';
import { firstIdAt } from '../core/packed-id.ts';
import type { Schema } from '../databases/schema.ts';
import { idValue } from '../databases/sql-dialect.ts';
import {
  histogramBounds,
  histogramColumns,
  histogramMeasures,
  kindCodes,
  periodMs,
  quantileOf,
  type StoredHistogram,
} from './usage-rollup.ts';

/** How fast a model was on a UTC day, for all workspaces. Days without a request are left out. */
export type ModelDay = ReturnType<typeof dayOf>;

/** Requests that a route delivered. */
export interface RouteTraffic {
  readonly route: string;
  readonly requests: number;
}

/** Most requests of all models that are looked through for the traffic. The newest count. */
const maxLookedAt = 100_000;

/** The days of a model since a moment, and how its newest requests are spread over its routes. */
export async function modelHistory(
  queries: Kysely<Schema>,
  asked: { readonly modelId: string; readonly daysSince: number; readonly trafficSince: number },
) {
  return { days: await daysOf(queries, asked), traffic: await trafficOf(queries, asked) };
}

interface SummedDay {
  readonly period: number | bigint;
  readonly is_completed: number | bigint;
  readonly [column: string]: number | bigint;
}

async function daysOf(
  queries: Kysely<Schema>,
  { modelId, daysSince }: { readonly modelId: string; readonly daysSince: number },
): Promise<readonly ModelDay[]> {
  const sums = ['requests', 'completion_tokens', ...histogramMeasures].map(
    (column) => sql`cast(sum(${sql.ref(column)}) as bigint) as ${sql.ref(column)}`,
  );
  const isCompleted = sql`case when outcome = ${sql.lit(kindCodes.codeOf('completed'))} then 1 else 0 end`;
  const { rows } = await sql<SummedDay>`
    select period, ${isCompleted} as is_completed, ${sql.join(sums)} from usage_days
    where model = (select number from ledger_models where name = ${modelId})
      and period >= ${Math.floor(daysSince / periodMs.usage_days)}
    group by period, ${isCompleted} order by period
  `.execute(queries);
  return [...Map.groupBy(rows, ({ period }) => Number(period))].map(([period, ofDay]) => dayOf(period, ofDay));
}

function dayOf(period: number, rows: readonly SummedDay[]) {
  const sum = (column: string, of = rows): number => of.reduce((total, row) => total + Number(row[column] ?? 0), 0);
  const counts = (histogram: StoredHistogram, of = rows): readonly number[] =>
    histogramColumns(histogram).map((column) => sum(column, of));
  const firstTokens = counts('first_token');
  const completed = rows.filter((row) => Number(row.is_completed) === 1);
  const ms =
    estimatedSum('duration', counts('duration', completed)) -
    estimatedSum('first_token', counts('first_token', completed));
  return {
    /** `2026-07-01` */
    day: new Date(period * periodMs.usage_days).toISOString().slice(0, 10),
    requests: sum('requests'),
    /** Undefined: no token came. */
    firstTokenP50Ms: quantileOf('first_token', firstTokens, 0.5),
    firstTokenP95Ms: quantileOf('first_token', firstTokens, 0.95),
    /**
     * Output tokens of completed answers by the time from the first token to the end. An answer that was not streamed
     * counts from its beginning. An estimate, because the times are known only as histograms.
     */
    tokensPerSecond: ms > 0 ? (sum('completion_tokens', completed) / ms) * 1_000 : undefined,
  };
}

/** The sum of the times of a histogram, as if each were in the middle of its bucket. Longer ones count as the last bound. */
function estimatedSum(histogram: StoredHistogram, counts: readonly number[]): number {
  const bounds: readonly number[] = histogramBounds[histogram];
  const last = bounds.at(-1) ?? 0;
  return counts.reduce((sum, count, at) => sum + (count * ((bounds[at - 1] ?? 0) + (bounds[at] ?? last))) / 2, 0);
}

async function trafficOf(
  queries: Kysely<Schema>,
  { modelId, trafficSince }: { readonly modelId: string; readonly trafficSince: number },
): Promise<readonly RouteTraffic[]> {
  const { rows } = await sql<{ readonly route: string; readonly requests: number | bigint }>`
    select ledger_routes.name as route, count(*) as requests
    from (
      select route from requests where id >= ${idValue(queries, firstIdAt(trafficSince))}
      order by id desc limit ${sql.lit(maxLookedAt)}
    ) as newest
    join ledger_routes on ledger_routes.number = newest.route
    join ledger_models on ledger_models.number = ledger_routes.model
    where ledger_models.name = ${modelId} and ledger_routes.name <> ''
    group by ledger_routes.name order by ledger_routes.name
  `.execute(queries);
  return rows.map(({ route, requests }) => ({ route, requests: Number(requests) }));
}
