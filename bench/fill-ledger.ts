// Ledgers of years, for what is measured on them.
import { randomBytes } from 'node:crypto';
import { cpSync, existsSync } from 'node:fs';
import { sql } from 'kysely';
import { databaseLocation } from '../src/books/databases/database-location.ts';
import { createKey } from '../src/books/accounts/keys.ts';
import type { SettledRequest } from '../src/core/settled-request.ts';
import { openDatabase } from '../src/books/databases/open-database.ts';
import { firstIdAt } from '../src/books/core/packed-id.ts';
import { settleBatch } from '../src/books/ledger/settle-batch.ts';
import { requestColumnNames } from '../src/books/ledger/stored-request.ts';
import { usageKeyColumns, usageMeasures } from '../src/books/ledger/usage-rollup.ts';
import { createWorkspace } from '../src/books/accounts/workspaces.ts';

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

/** Opens an empty database and makes its workspaces and keys. */
export async function openLedger(url: string) {
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

export type Ledger = Awaited<ReturnType<typeof openLedger>>;

/** A request of a group that starts within a time, with an id of the form of the service's. */
function requestIn({ accounts }: Ledger, from: number, ms: number): SettledRequest {
  const startedAt = Math.floor(from + Math.random() * ms);
  const id = randomBytes(16);
  id.writeUIntBE(startedAt, 0, 6);
  const group = Math.floor(Math.random() * groups);
  const account = accounts[(group * 7) % accounts.length] ?? { workspaceId: '', keyId: '' };
  const model = `org/model-${group % models}`;
  const tokens = Math.floor(Math.random() * 4_000);
  return {
    ...{ requestId: `chatcmpl-${id.toString('base64url')}`, correlationId: crypto.randomUUID() },
    ...{ workspaceId: account.workspaceId, keyId: account.keyId, modelId: model, routeId: `${model}@backend` },
    ...{ surface: 'chat', stream: true, kind: 'completed', countedBy: 'engine', attempts: 1, routes: 1 },
    usage: { promptTokens: tokens, completionTokens: tokens >> 2, cachedTokens: 64 },
    ...{ cost: BigInt(tokens) * 150_000n, startedAt },
    ...{ firstTokenMs: 50 + (tokens >> 3), durationMs: 400 + tokens * 4 },
  };
}

/** Requests that start within a time. */
export function requests(ledger: Ledger, count: number, { from, ms }: { readonly from: number; readonly ms: number }) {
  return Array.from({ length: count }, () => requestIn(ledger, from, ms));
}

interface Filling {
  /** About so many, over so many days. */
  readonly rows: number;
  readonly days: number;
  /** The last day ends here. */
  readonly end: number;
  readonly report: (line: string) => void;
}

/** Settles the requests of the first day, and copies them with their rollups to all days after it: the books agree at the end. */
export async function fillLedger(ledger: Ledger, { rows, days, end, report }: Filling): Promise<void> {
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
    if (number % 50 === 0) report(`${number} days`);
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

/**
 * Puts a SQLite ledger of so many requests and days where a gateway looks for it: a copy of one that is there already, or a new one,
 * which takes minutes.
 */
export async function placeLedger(
  file: string,
  { from, rows, days, report }: Omit<Filling, 'end'> & { readonly from: string | undefined },
): Promise<void> {
  if (from !== undefined) {
    for (const suffix of ['', '-wal']) {
      if (existsSync(`${from}${suffix}`)) cpSync(`${from}${suffix}`, `${file}${suffix}`);
    }
    return;
  }
  const ledger = await openLedger(`sqlite:${file}`);
  await fillLedger(ledger, { rows, days, end: Math.floor(Date.now() / dayMs) * dayMs, report });
  await addForPages(ledger);
  await ledger.database.close();
}

/** Each key has one of so many values of the tag `team`. */
const teams = 5;

/**
 * What pages show besides requests. The first model becomes the one of the demo, so that its page has a history. Each key
 * gets a tag: the sums of its days are those of the tag, as if its requests had been settled with it.
 */
async function addForPages({ database: { queries } }: Ledger): Promise<void> {
  await sql`update ledger_models set name = 'demo/chat' where name = 'org/model-0'`.execute(queries);
  const value = sql.raw(`'team-' || ledger_keys.number % ${teams}`);
  await sql`insert into ledger_tags (workspace_id, name, value)
    select distinct workspace_id, 'team', ${value} from ledger_keys`.execute(queries);
  const columns = [...usageKeyColumns, ...usageMeasures].join(', ');
  await sql`insert into usage_tags (tag, ${sql.raw(columns)})
    select ledger_tags.number, ${sql.raw(columns.replaceAll(/\w+/g, 'usage_days.$&'))}
    from usage_days join ledger_keys on ledger_keys.number = usage_days.key
    join ledger_tags on ledger_tags.workspace_id = ledger_keys.workspace_id and ledger_tags.value = ${value}`.execute(
    queries,
  );
  await sql`pragma wal_checkpoint(truncate)`.execute(queries);
}
