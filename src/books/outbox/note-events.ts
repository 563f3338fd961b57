import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { OutboxKind } from '../../core/event-delivery.ts';
import type { PackedId } from '../core/packed-id.ts';
import type { Schema } from '../databases/schema.ts';

// The outbox: a row for each subscription that wants an event, in the transaction of its row in the books. The row has the ids
// alone: the event is made when it is sent, of the rows of the ledger, which never change. Nothing is written while there
// is no subscription.

/** The ids of some settled requests of a batch, as one row of the outbox. */
export interface NotedRequests {
  readonly refs: string;
  readonly events: number;
}

/** A row stays below the size from which PostgreSQL stores a value elsewhere. */
const maxRefs = 50;

/** The rows of the outbox for the settled requests of a batch, in their order. */
export function notedRequests(ids: readonly PackedId[]): readonly NotedRequests[] {
  const rows: NotedRequests[] = [];
  for (let at = 0; at < ids.length; at += maxRefs) {
    const some = ids.slice(at, at + maxRefs);
    rows.push({ refs: some.join(','), events: some.length });
  }
  return rows;
}

/** The condition for subscriptions that want a kind. */
export const wants = (kind: OutboxKind): string => `',' || kinds || ',' like '%,${kind},%'`;

/**
 * Notes an event for each subscription that wants it. `ref`: the id of its row. Call it while the transaction holds the
 * lock of the workspace, if it takes it at all: the rows of a workspace then are in the order of its commits.
 */
export async function noteEvent(
  transaction: Transaction<Schema>,
  {
    kind,
    ref,
    at,
  }: { readonly kind: OutboxKind; readonly ref: string; /** When it may be sent. */ readonly at: number },
): Promise<void> {
  await sql`insert into outbox (subscription, kind, refs, events, at, retry_at, tries)
    select name, ${text(kind)}, ${text(ref)}, 1, cast(${BigInt(at)} as bigint), 0, 0
    from event_subscriptions where ${sql.raw(wants(kind))}`.execute(transaction);
}

const text = (value: string): RawBuilder<string> => sql`cast(${value} as text)`;
