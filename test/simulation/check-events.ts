import type { OpenDatabase } from '../../src/books/databases/database.ts';
import { nextMessages } from '../../src/books/outbox/next-messages.ts';
import { endMessages } from '../../src/books/outbox/subscriptions.ts';
import { maxWaitMs } from '../../src/core/event-delivery.ts';
import type { Chance } from '../support/chance.ts';
import type { SampleEvent } from '../support/sample-outbox.ts';

const leaseMs = 60_000;
const maxPages = 10_000;

/**
 * Sends all that waits in the outbox to a receiver that fails, by senders that die. Returns where the events are not those of
 * the rows: one is missing, has no row, comes with another body, or in another order when it comes first.
 */
export async function eventFaults(
  queries: OpenDatabase['queries'],
  {
    chance,
    from,
    requests,
    earlier,
    isKept,
  }: {
    readonly chance: Chance;
    /** The moment in milliseconds since the Unix epoch. */
    readonly from: number;
    /** The ids of all requests in the ledger. */
    readonly requests: ReadonlySet<string>;
    /** The ids of rows that were there before anyone wanted events. */
    readonly earlier: ReadonlySet<string>;
    /** Whether the ledger still has a request. */
    readonly isKept: boolean;
  },
): Promise<readonly string[]> {
  const received = new Map<string, string>();
  const faults: string[] = [];
  let now = from;
  for (let page = 0; ; page += 1) {
    if (page === maxPages) return ['events are sent without end'];
    // Each sender dies after its page, and the next one waits for its lease.
    now += maxWaitMs / 2;
    const about = { subscription: 'events', holder: `sender ${page}` } as const;
    try {
      const messages = await nextMessages(queries, { ...about, leaseMs }, now);
      if (messages.length === 0) break;
      const kept = chance.below(messages.length + 1);
      for (const { body } of messages.slice(0, kept)) {
        for (const event of JSON.parse(body) as readonly SampleEvent[]) {
          const text = JSON.stringify(event);
          if ((received.get(event.id) ?? text) !== text) faults.push(`${event.id} has two bodies`);
          received.set(event.id, text);
        }
      }
      // It dies before it has ended what was accepted.
      if (chance.is(0.2)) continue;
      const accepted = messages.slice(0, kept);
      await endMessages(queries, { ...about, accepted, failed: messages[kept]?.rows[0] }, now);
    } catch {
      // The disk fails, perhaps after it has committed.
    }
  }
  const rows = new Set([...requests, ...(await accountRows(queries))]);
  const missing = [...rows].filter((id) => !received.has(id) && !earlier.has(id));
  const strange = [...received.keys()].filter((id) => !rows.has(id));
  if (missing.length > 0) faults.push(`${missing.length} of ${rows.size} rows have no event, ${missing[0]} for one`);
  if (strange.length > 0 && isKept) faults.push(`${strange.length} events have no row, ${strange[0]} for one`);
  return faults;
}

/** The ids of the events of all rows but requests. */
export async function accountRows(queries: OpenDatabase['queries']): Promise<readonly string[]> {
  const audits = await queries.selectFrom('audit').select('id').execute();
  const credits = await queries.selectFrom('credits').select('id').execute();
  const alerts = await queries.selectFrom('alerts').select('id').where('percent', '>', 0n).execute();
  const statements = await queries.selectFrom('statements').select(['month', 'workspace_id']).execute();
  return [
    ...audits.map(({ id }) => `audit_${id}`),
    ...[...credits, ...alerts].map(({ id }) => id),
    ...statements.map(({ month, workspace_id: workspace }) => `statement_${month}_${workspace}`),
  ];
}
