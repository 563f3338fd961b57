// A ledger of years: `node bench/full-ledger.ts URL… [--rows N] [--days N]` fills an empty database with requests of so many days, and
// prints what settling, reporting and retention cost in it, beside an empty one. It takes as long as filling it; CI does not run it.
//
// URL… is two empty databases of one server, `postgres://… postgres://…`, or two new files, `sqlite:… sqlite:…`: the second one
// stays empty, for comparison.
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { databaseLocation } from '../src/cli/commands/database-location.ts';
import { createKey } from '../src/store/keys.ts';
import type { LedgerRow } from '../src/store/ledger-row.ts';
import { openDatabase } from '../src/store/open-database.ts';
import { settleBatch } from '../src/store/settle-batch.ts';
import { firstIdAt } from '../src/store/packed-id.ts';
import { requestColumnNames } from '../src/store/stored-request.ts';
import { usageKeyColumns, usageMeasures } from '../src/store/usage-rollup.ts';
import { usageReport } from '../src/store/usage-report.ts';
import { verifyLedger } from '../src/store/verify-ledger.ts';
import { createWorkspace } from '../src/store/workspaces.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '20000000' }, days: { type: 'string', default: '400' } },
});
const [fullUrl = '', emptyUrl = ''] = positionals;
const [rows, days] = [Number(values.rows), Number(values.days)];

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Keys that are in use at once, each with a model: so many rollups an hour. */
const groups = 200;
const workspaces = 50;
const keys = 500;
const models = 40;
const by = { actor: { kind: 'command-line', name: 'bench' }, now: Date.now() } as const;

interface Account {
  readonly workspaceId: string;
  readonly keyId: string;
}

async function opened(url: string) {
  const location = databaseLocation({ url });
  const database = await openDatabase(location, { missing: 'create', user: 'operator' });
  const { queries } = database;
  const accounts: Account[] = [];
  for (let number = 0; number < workspaces; number += 1) {
    const name = `workspace-${number}`;
    const { id: workspaceId } = await createWorkspace(queries, { name, credit: 0n, maxInFlight: 1 }, by);
    for (let key = 0; key < keys / workspaces; key += 1) {
      const made = await createKey(queries, { workspace: name, rate: 1, burst: 1 }, by);
      accounts.push({ workspaceId, keyId: made.key.id });
    }
  }
  return { database, location, accounts };
}

type Ledger = Awaited<ReturnType<typeof opened>>;

/** A request of a group that starts within a time, with an id of the form of the service's. */
function requestIn({ accounts }: Ledger, from: number, ms: number): LedgerRow {
  const startedAt = Math.floor(from + Math.random() * ms);
  const id = randomBytes(16);
  id.writeUIntBE(startedAt, 0, 6);
  const group = Math.floor(Math.random() * groups);
  const account = accounts[(group * 7) % accounts.length] ?? { workspaceId: '', keyId: '' };
  const model = `org/model-${group % models}`;
  const tokens = Math.floor(Math.random() * 4_000);
  return {
    ...{ request_id: `chatcmpl-${id.toString('base64url')}`, correlation_id: crypto.randomUUID() },
    ...{ workspace_id: account.workspaceId, key_id: account.keyId, model_id: model, route_id: `${model}@backend` },
    ...{
      surface: 'chat',
      stream: 1n,
      kind: 'completed',
      counted_by: 'engine',
      attempts: 1n,
      routes: 1n,
      web_searches: null,
    },
    ...{ prompt_tokens: BigInt(tokens), completion_tokens: BigInt(tokens >> 2), cached_tokens: 64n },
    ...{ reasoning_tokens: null, cost: BigInt(tokens) * 150_000n, started_at: BigInt(startedAt) },
    ...{ first_token_ms: BigInt(50 + (tokens >> 3)), duration_ms: BigInt(400 + tokens * 4) },
  };
}

function requests(ledger: Ledger, count: number, { from, ms }: { readonly from: number; readonly ms: number }) {
  return Array.from({ length: count }, () => requestIn(ledger, from, ms));
}

function say(what: string, figure: string): void {
  process.stdout.write(`${what}: ${figure}\n`);
}

/** Settles the requests of the first day, and copies them with their rollups to all days after it: the books agree at the end. */
async function fill(ledger: Ledger, end: number): Promise<void> {
  const { database, location } = ledger;
  const { queries } = database;
  const day = { from: end - days * dayMs, to: end - (days - 1) * dayMs };
  const perHour = Math.round(rows / days / 24);
  for (let from = day.from; from < day.to; from += hourMs) {
    await settleBatch(database, requests(ledger, perHour, { from, ms: hourMs }));
  }
  const copy = copying(location.kind, day);
  for (let number = 1; number < days; number += 1) {
    const after = requestIn(ledger, day.from + number * dayMs, dayMs);
    await database.prepare([after]);
    await queries.transaction().execute(async (transaction) => {
      for (const statement of copy(number)) await sql.raw(statement).execute(transaction);
    });
    if (number % 50 === 0) say('filled', `${number} days`);
  }
  await sql`update workspaces set balance = -coalesce((select sum(cost) from usage_days
    join ledger_keys on number = usage_days.key where workspace_id = workspaces.id), 0)`.execute(queries);
  if (location.kind === 'postgres') await sql`vacuum analyze`.execute(queries);
  else await sql`pragma wal_checkpoint(truncate)`.execute(queries);
}

/** The statements that copy a day to so many days after it. */
function copying(kind: 'sqlite' | 'postgres', { from, to }: { readonly from: number; readonly to: number }) {
  const others = requestColumnNames.filter((name) => name !== 'id').join(', ');
  const digits = kind === 'sqlite' ? 'hex(id)' : "replace(id::text, '-', '')";
  // SQLite has no number of a hexadecimal text: minutes of the day are counted by their bounds.
  const minutes = Array.from({ length: (to - from) / 60_000 }, (_, minute) => from + minute * 60_000);
  const value = (id: string) => (kind === 'sqlite' ? `unhex('${id}')` : `'${id}'::uuid`);
  const usage = [...usageKeyColumns.slice(1), ...usageMeasures].join(', ');
  return (number: number): readonly string[] => [
    ...(kind === 'postgres'
      ? [
          `insert into requests (id, ${others}) select
            (lpad(to_hex(('x' || substr(${digits}, 1, 12))::bit(48)::bigint + ${number * dayMs}), 12, '0') || substr(${digits}, 13))::uuid, ${others}
            from requests where id >= ${value(firstIdAt(from))} and id < ${value(firstIdAt(to))} order by id`,
        ]
      : minutes.map(
          (minute) => `insert into requests (id, ${others}) select
            unhex('${firstIdAt(minute + number * dayMs).slice(0, 12)}' || substr(${digits}, 13)), ${others}
            from requests where id >= ${value(firstIdAt(minute))} and id < ${value(firstIdAt(minute + 60_000))}`,
        )),
    `insert into usage_hours (period, ${usage}) select period + ${number * 24}, ${usage} from usage_hours
      where period >= ${from / hourMs} and period < ${to / hourMs}`,
    `insert into usage_days (period, ${usage}) select period + ${number}, ${usage} from usage_days
      where period >= ${from / dayMs} and period < ${to / dayMs}`,
    `insert into spending (key_id, day, amount, last_used_at) select key_id, day + ${number * dayMs}, amount, last_used_at
      from spending where day >= ${from} and day < ${to}`,
  ];
}

/** Seconds. */
function since(moment: number): number {
  return (performance.now() - moment) / 1_000;
}

async function bytesPerRow({ database, location }: Ledger): Promise<string> {
  const { queries } = database;
  if (location.kind === 'sqlite') {
    const { rows: tables } = await sql<{ name: string; bytes: bigint }>`
      select name, sum(pgsize) as bytes from dbstat group by name order by bytes desc limit 6
    `.execute(queries);
    const sizes = tables.map(({ name, bytes }) => `${name} ${bytes}`).join(', ');
    const requested = tables.find(({ name }) => name === 'requests')?.bytes ?? 0n;
    return `${(Number(requested) / rows).toFixed(1)} (file ${statSync(location.file).size}; ${sizes})`;
  }
  const { rows: sizes } = await sql<{ heap: bigint; whole: bigint; hours: bigint; days: bigint }>`
    select cast(sum(pg_relation_size(inhrelid)) as bigint) as heap,
      cast(sum(pg_total_relation_size(inhrelid)) as bigint) as whole,
      pg_total_relation_size('usage_hours') as hours, pg_total_relation_size('usage_days') as days
    from pg_inherits where inhparent = 'requests'::regclass
  `.execute(queries);
  const [size] = sizes;
  const each = (bytes: bigint | undefined) => (Number(bytes ?? 0n) / rows).toFixed(1);
  return `${each(size?.whole)} (heap ${each(size?.heap)}; usage_hours ${size?.hours}, usage_days ${size?.days} bytes)`;
}

async function reports({ database: { queries } }: Ledger, end: number): Promise<void> {
  const range = { since: Math.floor(end / dayMs - 90) * dayMs, until: Math.floor(end / dayMs) * dayMs };
  for (const [name, run] of [
    ['--by day,model over 90 days', () => usageReport(queries, range, ['day', 'model'])],
    ['--by workspace over 90 days', () => usageReport(queries, range, ['workspace'])],
    ['--by hour over 7 days', () => usageReport(queries, { ...range, since: range.until - 7 * dayMs }, ['hour'])],
  ] as const) {
    const times: number[] = [];
    for (let turn = 0; turn < 7; turn += 1) {
      const begun = performance.now();
      await run();
      times.push(performance.now() - begun);
    }
    say(
      `weir usage ${name}`,
      `${quantile(times, 0.5).toFixed(0)} ms, slowest of 7 ${Math.max(...times).toFixed(0)} ms`,
    );
  }
}

function quantile(times: readonly number[], share: number): number {
  return times.toSorted((one, other) => one - other)[Math.floor((times.length - 1) * share)] ?? Number.NaN;
}

/** By turns in both databases, so that whatever else the machine does slows both alike. */
async function compare(full: Ledger, empty: Ledger): Promise<void> {
  for (const size of [50, 1_000]) {
    const seconds = new Map([full, empty].map((ledger) => [ledger, [] as number[]]));
    for (let round = 0; round < 30; round += 1) {
      for (const [ledger, times] of seconds) {
        const batches = Array.from({ length: 10 }, () =>
          requests(ledger, size, { from: Date.now() - 30_000, ms: 30_000 }),
        );
        const begun = performance.now();
        for (const batch of batches) await settleBatch(ledger.database, batch);
        // The first rounds warm both up.
        if (round >= 5) times.push(since(begun));
      }
    }
    const rate = (ledger: Ledger) => (10 * size) / quantile(seconds.get(ledger) ?? [], 0.5);
    const [fullRate, emptyRate] = [rate(full), rate(empty)];
    say(
      `settlement, batches of ${size}`,
      `full ${fullRate.toFixed(0)}/s, empty ${emptyRate.toFixed(0)}/s, full ÷ empty ${(fullRate / emptyRate).toFixed(2)}`,
    );
  }
}

/** Settles 50 requests every 10 ms until it is told to stop; gives how long each batch took. */
async function settleAlong(ledger: Ledger, until: Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = [];
  let going = true;
  void until.finally(() => (going = false));
  while (going) {
    const batch = requests(ledger, 50, { from: Date.now() - 1_000, ms: 1_000 });
    const begun = performance.now();
    await settleBatch(ledger.database, batch);
    times.push(performance.now() - begun);
    await sleep(10);
  }
  return times;
}

function sayTimes(what: string, times: readonly number[]): void {
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
  say(
    what,
    `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, slowest ${Math.max(...times).toFixed(0)} ms of ${times.length}`,
  );
}

/** Drops the oldest month, as upkeep does in a service: a pause after each step as long as the step took. */
async function dropMonth(full: Ledger, end: number): Promise<void> {
  sayTimes('settlement alone', await settleAlong(full, sleep(20_000)));
  const oldest = new Date(end - days * dayMs);
  // The first whole month, and what is before it.
  const cut = Date.UTC(oldest.getUTCFullYear(), oldest.getUTCMonth() + 1, 1);
  const messages: string[] = [];
  const options = { retentionDays: 1, now: () => cut + dayMs, report: (message: string) => messages.push(message) };
  const upkeep = full.database.beginUpkeep(options);
  const begun = performance.now();
  // On the one connection of SQLite, a settlement comes between two steps.
  const times =
    upkeep.place === 'beside'
      ? await settleAlong(full, allSteps(upkeep.steps))
      : await settleBetween(full, upkeep.steps);
  await upkeep.stop();
  say('proving and dropping the oldest month', `${since(begun).toFixed(1)} s ${messages.join(' ')}`);
  sayTimes('settlement beside it', times);
}

async function allSteps(steps: AsyncIterator<string>): Promise<void> {
  for (;;) {
    const begun = performance.now();
    const { value } = await steps.next();
    if (value === 'done') return;
    await sleep(performance.now() - begun);
  }
}

/** Has each step end before the next batch: what waits is what a batch in the service's queue would wait. */
async function settleBetween(ledger: Ledger, steps: AsyncIterator<string>): Promise<readonly number[]> {
  const times: number[] = [];
  for (;;) {
    const batch = requests(ledger, 50, { from: Date.now() - 1_000, ms: 1_000 });
    const begun = performance.now();
    const step = await steps.next();
    const stepMs = performance.now() - begun;
    await settleBatch(ledger.database, batch);
    times.push(performance.now() - begun);
    if (step.value === 'done') return times;
    await sleep(stepMs);
  }
}

const [full, empty] = [await opened(fullUrl), await opened(emptyUrl)];
const end = Math.floor(Date.now() / dayMs) * dayMs;
await fill(full, end);
say('bytes of a row, indexes included', await bytesPerRow(full));
await reports(full, end);
const books = await verifyLedger(full.database.queries);
say(
  'verify',
  `${books.hours} hours, ${books.rowDifferences.length + books.dayDifferences.length + books.spendingDifferences.length} differences`,
);
await compare(full, empty);
await dropMonth(full, end);
await Promise.all([full.database.close(), empty.database.close()]);
