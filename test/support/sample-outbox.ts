import type { Kysely } from 'kysely';
import { settleBatch } from '../../src/books/ledger/settle-batch.ts';
import type { Schema } from '../../src/books/databases/schema.ts';
import { nextMessages } from '../../src/books/outbox/next-messages.ts';
import { endMessages, keepSubscriptions, waitingEvents } from '../../src/books/outbox/subscriptions.ts';
import type { EventMessage, WaitingFigures } from '../../src/core/event-delivery.ts';
import { type EventKind, eventKinds } from '../../src/core/event-type.ts';
import { parseUsd } from '../../src/core/money.ts';
import { sampleDatabase, sampleNow } from './sample-database.ts';
import { sampleOutcome } from './sample-outcome.ts';

export const outboxLeaseMs = 60_000;

export interface SampleEvent {
  readonly id: string;
  readonly type: string;
  readonly subject?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export const eventsOf = (messages: readonly EventMessage[]): readonly SampleEvent[] =>
  messages.flatMap(({ body }) => JSON.parse(body) as readonly SampleEvent[]);

export const usd = (text: string): bigint => parseUsd(text) ?? 0n;

/** The messages of a subscription that are due. */
export function next(
  queries: Kysely<Schema>,
  now = sampleNow,
  holder = 'one',
  subscription: 'events' | 'alerts' = 'events',
): Promise<readonly EventMessage[]> {
  return nextMessages(queries, { subscription, holder, leaseMs: outboxLeaseMs }, now);
}

/** Receives all that waits, as a receiver that accepts everything. */
export async function drain(queries: Kysely<Schema>, now = sampleNow): Promise<readonly SampleEvent[]> {
  const received: SampleEvent[] = [];
  for (;;) {
    const accepted = await next(queries, now);
    if (accepted.length === 0) return received;
    received.push(...eventsOf(accepted));
    await endMessages(queries, { subscription: 'events', holder: 'one', accepted, failed: undefined }, now);
  }
}

/** A database with a subscription to events, for which nothing waits. */
export async function sampleOutbox(kinds: readonly EventKind[] = eventKinds) {
  const made = await sampleDatabase('1000');
  const { queries, database, ids } = made;
  await keepSubscriptions(queries, [{ name: 'events', kinds }], sampleNow);
  let requests = 0;
  return {
    ...made,
    /** Settles so many requests in one batch. Returns their ids. */
    spend: async (count: number, cost = '0.01'): Promise<readonly string[]> => {
      const rows = Array.from({ length: count }, () => {
        requests += 1;
        return sampleOutcome({
          ...ids,
          requestId: `req-${requests}`,
          cost: usd(cost),
          startedAt: sampleNow + requests,
        });
      });
      await settleBatch(database, rows, sampleNow);
      return rows.map(({ requestId }) => requestId);
    },
    waiting: (maxWaiting = 1e6): Promise<WaitingFigures> =>
      waitingEvents(queries, { name: 'events', maxWaiting }, sampleNow),
  };
}
