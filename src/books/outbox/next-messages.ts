import type { Kysely, Selectable } from 'kysely';
import { type EventMessage, maxWaitMs, type SubscriptionName } from '../../core/event-delivery.ts';
import type { EventKind } from '../../core/event-type.ts';
import type { Schema } from '../databases/schema.ts';
import { cloudEventsOf, messageId, type Refs } from './cloud-events.ts';
import { eventSources } from './event-sources.ts';

/** Most events in a POST: about 90 KB, which a thread signs in a fraction of a millisecond. */
const maxEvents = 100;
/** Most events that are read at once. A sender that dies has sent at most so many that arrive again. */
const maxEventsInPage = 500;

export interface Claim {
  readonly subscription: SubscriptionName;
  /** The process that sends. */
  readonly holder: string;
  /** Longer than it takes to send a page. */
  readonly leaseMs: number;
}

type Row = Selectable<Schema['outbox']>;

/**
 * The next messages of a subscription, in their order, for the one process that holds its lease. None if nothing is due, or
 * if another process holds it. A row that is not ended with `endMessages` is among them again.
 */
export async function nextMessages(
  queries: Kysely<Schema>,
  claim: Claim,
  now: number,
): Promise<readonly EventMessage[]> {
  const { subscription } = claim;
  for (;;) {
    const [oldest] = await dueRows(queries, { subscription, limit: 1 }, now);
    if (oldest === undefined || !(await holds(queries, claim, now))) return [];
    // Rows of a busy service have many events each, and about 40 bytes an event.
    const limit = Math.ceil(maxEventsInPage / Math.max(1, Number(oldest.events)));
    const rows = await dueRows(queries, { subscription, limit }, now);
    const [first] = rows;
    if (first === undefined) return [];
    if (subscription === 'alerts') return webhooks(queries, rows.slice(0, maxEvents));
    const messages = await (first.kind === 'replay' ? replayed(queries, first) : batches(queries, rows));
    if (messages.length > 0) return messages;
    // The replay has come to its end.
    await queries.deleteFrom('outbox').where('seq', '=', first.seq).execute();
  }
}

/** Takes or prolongs the lease. A lease that ends too late was written before the clock was set back. */
async function holds(queries: Kysely<Schema>, { subscription, holder, leaseMs }: Claim, now: number): Promise<boolean> {
  const { numUpdatedRows: updated } = await queries
    .updateTable('event_subscriptions')
    .set({ holder, held_until: BigInt(now + leaseMs) })
    .where('name', '=', subscription)
    .where((where) =>
      where.or([
        where('holder', 'is', null),
        where('holder', '=', holder),
        where('held_until', '<=', BigInt(now)),
        where('held_until', '>', BigInt(now + maxWaitMs)),
      ]),
    )
    .executeTakeFirstOrThrow();
  return updated === 1n;
}

async function dueRows(
  queries: Kysely<Schema>,
  { subscription, limit }: { readonly subscription: SubscriptionName; readonly limit: number },
  now: number,
): Promise<readonly Row[]> {
  const isDue = ({ retry_at: at }: Pick<Row, 'retry_at'>): boolean => at <= now || at > now + maxWaitMs;
  let query = queries
    .selectFrom('outbox')
    .selectAll()
    .where('subscription', '=', subscription)
    .orderBy('seq')
    .limit(limit);
  // Messages that wait for their next try, or for their hour to end, hold up no others. Events wait for those before them.
  if (subscription === 'alerts') {
    query = query
      .where((where) => where.or([where('at', '<=', BigInt(now)), where('at', '>', BigInt(now + 2 * maxWaitMs))]))
      .where((where) =>
        where.or([where('retry_at', '<=', BigInt(now)), where('retry_at', '>', BigInt(now + maxWaitMs))]),
      );
  }
  const rows = await query.execute();
  return rows[0] !== undefined && isDue(rows[0]) ? rows : [];
}

async function webhooks(queries: Kysely<Schema>, rows: readonly Row[]): Promise<readonly EventMessage[]> {
  const alerts = await queries
    .selectFrom('alerts')
    .select(['id', 'body'])
    .where(
      'id',
      'in',
      rows.map(({ refs }) => refs),
    )
    .execute();
  const bodies = new Map(alerts.map(({ id, body }) => [id, body]));
  return rows.map(({ seq, refs }) => ({
    ...{ id: refs, body: bodies.get(refs) ?? '', events: 1, rows: [seq], goesOn: undefined, missing: 0 },
  }));
}

interface PageRow extends Refs {
  readonly seq: bigint;
}

/** The events of rows up to the first replay, or up to the size of a page. */
async function batches(queries: Kysely<Schema>, rows: readonly Row[]): Promise<readonly EventMessage[]> {
  const page: PageRow[] = [];
  let size = 0;
  for (const { seq, kind, refs, events } of rows) {
    size += Number(events);
    if (kind === 'replay' || kind === 'message' || (size > maxEventsInPage && page.length > 0)) break;
    page.push({ seq, kind, refs: refs.split(',') });
  }
  const eventOf = await cloudEventsOf(queries, page);
  const messages: EventMessage[] = [];
  let some: PageRow[] = [];
  let count = 0;
  const end = (): void => {
    if (some.length === 0) return;
    const events = some.flatMap(({ kind, refs }) => refs.flatMap((ref) => eventOf(kind, ref) ?? []));
    messages.push(
      messageOf(events, { rows: some.map(({ seq }) => seq), goesOn: undefined, missing: count - events.length }),
    );
    [some, count] = [[], 0];
  };
  for (const row of page) {
    if (count + row.refs.length > maxEvents) end();
    some.push(row);
    count += row.refs.length;
  }
  end();
  return messages;
}

/** A message without events is not sent: its rows are done. */
function messageOf(events: readonly string[], about: Pick<EventMessage, 'rows' | 'goesOn' | 'missing'>): EventMessage {
  const body = `[${events.join(',')}]`;
  return { id: messageId(body), body, events: events.length, ...about };
}

/** The rest of a replay: the `refs` of its row. */
export interface EventReplay {
  readonly kind: EventKind;
  readonly since: number;
  readonly until: number;
  readonly after?: string | undefined;
}

async function replayed(queries: Kysely<Schema>, { seq, refs: text }: Row): Promise<readonly EventMessage[]> {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- `replayEvents` and this function alone write it.
  const replay = JSON.parse(text) as EventReplay;
  const { kind, since, until, after } = replay;
  const refs = await eventSources[kind].list(queries, { since, until, after, limit: maxEventsInPage });
  const eventOf = await cloudEventsOf(queries, [{ kind, refs }]);
  const messages: EventMessage[] = [];
  for (let at = 0; at < refs.length; at += maxEvents) {
    const some = refs.slice(at, at + maxEvents);
    const goesOn = JSON.stringify({ ...replay, after: some.at(-1) } satisfies EventReplay);
    const events = some.flatMap((ref) => eventOf(kind, ref) ?? []);
    messages.push(messageOf(events, { rows: [seq], goesOn, missing: 0 }));
  }
  return messages;
}
