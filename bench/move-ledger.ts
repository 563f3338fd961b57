// A ledger of the version before that moves while a service settles: `node bench/move-ledger.ts URL [--rows N]` fills an empty database
// as that version did, opens it as a service does, and prints how long moving took, what settling cost beside it, and whether
// anything was lost or refused. CI does not run it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Kysely, sql } from 'kysely';
import { databaseLocation } from '../src/cli/commands/database-location.ts';
import { tryLock } from '../src/process/lock.ts';
import { newRequestId } from '../src/process/machine.ts';
import { openDatabase } from '../src/store/open-database.ts';
import { openStore } from '../src/store/open-store.ts';
import type { Schema } from '../src/store/schema.ts';
import { usageReport } from '../src/store/usage-report.ts';
import { verifyLedger } from '../src/store/verify-ledger.ts';
import { oldVersionAt } from '../test/support/old-ledger.ts';
import { sampleOutcome } from '../test/support/sample-outcome.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '1000000' } },
});
const [url = ''] = positionals;
const rows = Number(values.rows);
const location = databaseLocation({ url });
const dayMs = 86_400_000;
const from = Math.floor(Date.now() / dayMs - 30) * dayMs;
/** Of each row, 10⁻¹² USD. */
const cost = 3;

/** Rows of thirty days, with the balances and the spending that they left behind. */
async function fill(
  queries: Kysely<Schema>,
  { workspaceId, keyId }: { readonly workspaceId: string; readonly keyId: string },
) {
  const numbers =
    location.kind === 'sqlite'
      ? sql`with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n + 1 < ${sql.lit(rows)}) `
      : sql`with numbers as (select generate_series(0, ${sql.lit(rows - 1)}) as n) `;
  const digits = sql`cast(n as text)`;
  const padded = sql`substr('000000000000000000000000', 1, 24 - length(${digits})) || ${digits}`;
  const correlation = sql.lit('0f8fad5b-d9cb-469f-a165-70867728950e');
  await sql`insert into ledger (request_id, correlation_id, workspace_id, key_id,
      model_id, route_id, surface, stream, kind, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, counted_by,
      web_searches, cost, attempts, started_at, first_token_ms, duration_ms)
    ${numbers} select 'chatcmpl-' || ${padded}, ${correlation}, ${sql.lit(workspaceId)}, ${sql.lit(keyId)},
      'org/model-' || (n % 20), 'org/model-' || (n % 20) || '@backend', 'chat', 1, 'completed', 100, 50, null, null, 'engine',
      null, ${sql.lit(cost)}, 1, ${sql.lit(from)} + cast(n as bigint) * ${sql.lit(Math.floor((30 * dayMs) / rows))}, 200, 900 from numbers`.execute(
    queries,
  );
  await sql`insert into spending (key_id, day, amount, last_used_at)
    select key_id, started_at - started_at % 86400000, sum(cost), max(started_at) from ledger
    group by key_id, started_at - started_at % 86400000`.execute(queries);
  await sql`update workspaces set balance = ${sql.lit(-rows * cost)}`.execute(queries);
}

function quantile(times: readonly number[], share: number): string {
  const sorted = times.toSorted((one, other) => one - other);
  return (sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN).toFixed(1);
}

function say(what: string, figure: string): void {
  process.stdout.write(`${what}: ${figure}\n`);
}

const before = await oldVersionAt(location);
await fill(before.queries, before.ids);
await before.close();
say('filled', `${rows} rows of the version before`);

const journal = mkdtempSync(join(tmpdir(), 'weir-journal-'));
const database = await openDatabase(location, { missing: 'refuse', user: 'operator' });
const begun = performance.now();
const store = await openStore({ location, journal, tryLock });
say('open after', `${(performance.now() - begun).toFixed(0)} ms`);

let settled = 0;
let refused = 0;
let left = rows;
const times: number[] = [];
async function settleOne(into: number[]): Promise<void> {
  const startedAt = Date.now();
  const at = performance.now();
  const outcome = sampleOutcome({
    ...before.ids,
    requestId: `chatcmpl-${newRequestId()}`,
    startedAt,
    cost: BigInt(cost),
  });
  await store.settle(outcome).then(
    () => (settled += 1),
    () => (refused += 1),
  );
  into.push(performance.now() - at);
}

const counting = (async () => {
  while (left > 0) {
    await sleep(500);
    const { rows: counted } = await sql<{
      left: bigint;
    }>`select count(*) as left from (select 1 from ledger limit 1) as any_row`.execute(database.queries);
    left = Number(counted[0]?.left);
  }
})();
/** About a hundred requests a second, one at a time. */
async function load(isOver: () => boolean, into: number[]): Promise<void> {
  const pending = new Set<Promise<void>>();
  while (!isOver()) {
    const one = settleOne(into).finally(() => pending.delete(one));
    pending.add(one);
    await sleep(10);
  }
  await Promise.all(pending);
}
await load(() => left === 0, times);
await counting;
const tookS = (performance.now() - begun) / 1_000;
say('moved', `in ${tookS.toFixed(1)} s, ${(rows / tookS).toFixed(0)} rows/s`);
const alone: number[] = [];
const until = performance.now() + 10_000;
await load(() => performance.now() > until, alone);
say('settlement beside it', `p50 ${quantile(times, 0.5)} ms, p99 ${quantile(times, 0.99)} ms of ${times.length}`);
say('settlement alone', `p50 ${quantile(alone, 0.5)} ms, p99 ${quantile(alone, 0.99)} ms of ${alone.length}`);
await store.close();

const books = await verifyLedger(database.queries);
const [line] = await usageReport(database.queries, {}, []);
const differences = [
  ...books.workspaces.filter(({ balance, expected }) => balance !== expected),
  ...[...books.spendingDifferences, ...books.dayDifferences, ...books.rowDifferences],
];
say('refused', `${refused} of ${settled + refused}`);
say(
  'lost',
  `${rows + settled - (line?.requests ?? 0)} of ${rows + settled}, ${differences.length} differences in the books`,
);
await database.close();
rmSync(journal, { recursive: true });
