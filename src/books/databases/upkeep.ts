import { sql } from 'kysely';
import { minuteMs } from '../core/refusal.ts';
import { keptSince, setKeptSince } from '../ledger/kept-since.ts';
import type { OpenDatabase, UpkeepOptions, UpkeepStep } from './database.ts';
import { periodMs } from '../ledger/usage-rollup.ts';
import { nextHour, requestsIn, verifyHour, verifyHourInSlices } from '../ledger/verify-rows.ts';
import { atOneMoment } from './one-moment.ts';

const hourMs = periodMs.usage_hours;
const dayMs = periodMs.usage_days;

/** The moment before which requests are to be dropped: the beginning of a UTC day. */
export function dropBefore({ retentionDays, now }: Pick<UpkeepOptions, 'retentionDays' | 'now'>): number {
  return retentionDays === 0 ? 0 : Math.max(0, Math.floor(now() / dayMs - retentionDays) * dayMs);
}

/**
 * Proves the requests of one hour against its rollup before they are deleted. Returns whether they agree, and reports a
 * difference. A settlement between two slices can look like a difference, so after a difference the whole hour is read
 * at once.
 */
async function* proveHour(
  { queries }: Pick<OpenDatabase, 'queries'>,
  hour: number,
  { requestsInStep, report }: { readonly requestsInStep: number } & Pick<UpkeepOptions, 'report'>,
): AsyncGenerator<UpkeepStep, boolean> {
  const slices = Math.ceil((await requestsIn(queries, hour)) / requestsInStep);
  const verifying = verifyHourInSlices(queries, hour, Math.ceil(hourMs / Math.max(1, slices)));
  let result = await verifying.next();
  for (; !result.done; result = await verifying.next()) yield 'more';
  if (result.value.length === 0) return true;
  const measures = await atOneMoment(queries, (transaction) => verifyHour(transaction, hour));
  if (measures.length === 0) return true;
  report(
    `retention stopped: requests of the hour ${new Date(hour).toISOString()} do not match the rollups (${measures.join(', ')}); see \`weir ledger verify\``,
  );
  return false;
}

/**
 * Proves all hours from `kept_since` up to a moment, one after the other. Calls `proven` after each. Returns whether
 * all agree.
 */
export async function* proveHours(
  database: Pick<OpenDatabase, 'queries'>,
  options: {
    readonly until: number;
    /** About how many requests are read in a step. */
    readonly requestsInStep: number;
    readonly proven: (hour: number) => AsyncGenerator<UpkeepStep, void>;
  } & Pick<UpkeepOptions, 'report'>,
): AsyncGenerator<UpkeepStep, boolean> {
  let from = await keptSince(database.queries);
  for (;;) {
    const hour = await nextHour(database.queries, from);
    if (hour === undefined || hour + hourMs > options.until) return true;
    if (!(yield* proveHour(database, hour, options))) return false;
    yield* options.proven(hour);
    from = hour + hourMs;
  }
}

const alertsKeptMs = 400 * dayMs;
const alertsInStep = 200;

/**
 * Deletes alerts that are older than 400 days. Those of a period that has not ended stay, of a budget in total and of a
 * balance since its last credit: without its row, a threshold would be recorded again.
 */
export async function* deleteOldAlerts(
  { queries }: Pick<OpenDatabase, 'queries'>,
  { now }: Pick<UpkeepOptions, 'now'>,
): AsyncGenerator<UpkeepStep, void> {
  const before = BigInt(now() - alertsKeptMs);
  for (;;) {
    const { numDeletedRows: deleted } = await queries
      .deleteFrom('alerts')
      .where('id', 'in', (of) =>
        of
          .selectFrom('alerts as old')
          .leftJoin('workspaces', (join) =>
            join
              .onRef('workspaces.id', '=', 'old.object_id')
              .on('old.period', '=', sql<string>`'credit:' || cast(workspaces.alert_period as text)`),
          )
          .select('old.id')
          .where('old.at', '<', before)
          .where('old.period', 'not like', 'total:%')
          .where('workspaces.id', 'is', null)
          .orderBy('old.at')
          .limit(alertsInStep),
      )
      .executeTakeFirstOrThrow();
    if (deleted === 0n) return;
    yield 'more';
  }
}

/** Maximum number of rows of refused requests: about 100 MB. The oldest ones beyond it are deleted. */
const maxRefusalRows = 200_000;
/** Minutes of refusals in a step. */
const refusalMinutes = 10n;

/** Deletes refusals with the requests of their time, and those beyond `most` rows. */
export async function* deleteOldRefusals(
  { queries }: Pick<OpenDatabase, 'queries'>,
  most = maxRefusalRows,
): AsyncGenerator<UpkeepStep, void> {
  const newest = queries.selectFrom('refusals').select('minute').orderBy('minute', 'desc');
  const beyond = (await newest.offset(most).limit(1).executeTakeFirst())?.minute ?? -1n;
  const kept = BigInt(Math.floor((await keptSince(queries)) / minuteMs));
  const before = beyond < kept ? kept : beyond + 1n;
  for (;;) {
    const oldest = await queries.selectFrom('refusals').select('minute').orderBy('minute').limit(1).executeTakeFirst();
    if (oldest === undefined || oldest.minute >= before) return;
    const end = oldest.minute + refusalMinutes;
    await queries
      .deleteFrom('refusals')
      .where('minute', '<', end < before ? end : before)
      .execute();
    yield 'more';
  }
}

/** Records that requests before the end of an hour are about to be deleted. */
export async function releaseHour({ queries }: Pick<OpenDatabase, 'queries'>, hour: number): Promise<void> {
  await setKeptSince(queries, hour + hourMs);
}
