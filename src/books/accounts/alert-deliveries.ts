import type { Kysely } from 'kysely';
import { type ClaimedAlert, type DeliveryResult, type DeliveryState, maxWaitMs, nextTryAt } from '../../core/alert.ts';
import { toOneLine } from '../../core/one-line.ts';
import type { Schema } from '../databases/schema.ts';
import { collectedPercent } from './collected-alerts.ts';

const maxProblemLength = 300;

/**
 * Claims an alert whose delivery is due, for `leaseMs`. Other processes do not claim it meanwhile; if this one ends
 * before it has reported the result, the alert is due again after the lease. Undefined: none is due.
 */
export async function claimAlert(
  queries: Kysely<Schema>,
  { leaseMs }: { readonly leaseMs: number },
  now: number,
): Promise<ClaimedAlert | undefined> {
  for (;;) {
    const due = await queries
      .selectFrom('alerts')
      .select(['id', 'tries'])
      .where('state', '=', 'waiting')
      .where((where) =>
        where.or([where('next_try_at', '<=', BigInt(now)), where('next_try_at', '>', BigInt(now + maxWaitMs))]),
      )
      .orderBy('next_try_at')
      .limit(1)
      .executeTakeFirst();
    if (due === undefined) return undefined;
    const tries = due.tries + 1n;
    // Reads the body with the claim, because a collected message may have grown in between.
    const claimed = await queries
      .updateTable('alerts')
      .set({ tries, next_try_at: BigInt(now + leaseMs) })
      .where('id', '=', due.id)
      .where('tries', '=', due.tries)
      .where('state', '=', 'waiting')
      .returning('body')
      .executeTakeFirst();
    // Otherwise another process has claimed it in between.
    if (claimed !== undefined) return { id: due.id, body: claimed.body, tries: Number(tries) };
  }
}

/**
 * Stores the result of a delivery: delivered, to be tried again later, or given up after a day. A failure does not count if
 * the lease was over and another process has claimed the alert since. Resolves with the state after it.
 */
export async function finishAlert(
  queries: Kysely<Schema>,
  { id, tries, problem }: DeliveryResult,
  now: number,
): Promise<DeliveryState> {
  if (problem === undefined) {
    await queries.updateTable('alerts').set({ state: 'delivered', problem: null }).where('id', '=', id).execute();
    return 'delivered';
  }
  const next = nextTryAt({ tries, now });
  const { numUpdatedRows: updated } = await queries
    .updateTable('alerts')
    .set({
      problem: toOneLine(problem, maxProblemLength),
      ...(next === undefined ? { state: 'failed' } : { next_try_at: BigInt(next) }),
    })
    .where('id', '=', id)
    .where('tries', '=', BigInt(tries))
    .where('state', '=', 'waiting')
    .executeTakeFirstOrThrow();
  return next === undefined && updated === 1n ? 'failed' : 'waiting';
}

/** How many alerts are not delivered yet and will be tried, by any process. */
export async function countWaiting(queries: Kysely<Schema>): Promise<number> {
  const { count } = await queries
    .selectFrom('alerts')
    .select((columns) => columns.fn.countAll<number | bigint>().as('count'))
    .where('state', '=', 'waiting')
    // A collected message waits for its hour to end, and not for the receiver.
    .where((where) => where.or([where('percent', '>', collectedPercent), where('tries', '>', 0n)]))
    .executeTakeFirstOrThrow();
  return Number(count);
}
