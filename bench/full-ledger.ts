// A ledger of years: `node bench/full-ledger.ts URL… [--rows N] [--days N]` fills an empty database with requests of so many days, and
// prints what settling, reporting and retention cost in it, beside an empty one. It takes as long as filling it; CI does not run it.
//
// URL… is two empty databases of one server, `postgres://… postgres://…`, or two new files, `sqlite:… sqlite:…`: the second one
// stays empty, for comparison.
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { settleBatch } from '../src/books/ledger/settle-batch.ts';
import { usageReport } from '../src/books/ledger/usage-report.ts';
import { verifyLedger } from '../src/books/ledger/verify-ledger.ts';
import { fillLedger, type Ledger, openLedger, requests } from './fill-ledger.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '20000000' }, days: { type: 'string', default: '400' } },
});
const [fullUrl = '', emptyUrl = ''] = positionals;
const [rows, days] = [Number(values.rows), Number(values.days)];

const dayMs = 24 * 3_600_000;

function say(what: string, figure: string): void {
  process.stdout.write(`${what}: ${figure}\n`);
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

const [full, empty] = [await openLedger(fullUrl), await openLedger(emptyUrl)];
const end = Math.floor(Date.now() / dayMs) * dayMs;
await fillLedger(full, { rows, days, end, report: (line) => say('filled', line) });
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
