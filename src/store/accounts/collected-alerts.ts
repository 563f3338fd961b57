import { randomBytes } from 'node:crypto';
import type { Transaction } from 'kysely';
import { listBounds } from '../../core/limits.ts';
import type { Schema } from '../databases/schema.ts';
import { dayStart } from './budget-period.ts';

// A person can make keys and thresholds at no cost. So a workspace has a bound of messages for single alerts in a UTC day,
// and those beyond it are in one message for each hour.

const hourMs = 3_600_000;

/** The row of a collected message is no alert: its percentage is 0, which no threshold can be. */
export const collectedPercent = 0n;

/** Replicas that record alerts at the same moment can pass the bound together. */
export async function hasOwnMessage(
  transaction: Transaction<Schema>,
  workspaceId: string,
  now: number,
): Promise<boolean> {
  const { size } = await transaction
    .selectFrom('alerts')
    .select(({ fn }) => fn.countAll<number | bigint>().as('size'))
    .where('workspace_id', '=', workspaceId)
    .where('at', '>=', BigInt(dayStart(now)))
    .where('percent', '>', collectedPercent)
    .where('state', '<>', 'none')
    .executeTakeFirstOrThrow();
  return Number(size) < listBounds.maxAlertMessages;
}

/** Counts an alert in the message that is sent when this hour is over. */
export async function collectAlert(
  transaction: Transaction<Schema>,
  { workspaceId, workspace }: { readonly workspaceId: string; readonly workspace: string },
  now: number,
): Promise<void> {
  const since = now - (now % hourMs);
  const row = await transaction
    .insertInto('alerts')
    .values({
      ...{ id: `alert_${randomBytes(12).toString('hex')}`, object_id: workspaceId, workspace_id: workspaceId },
      ...{ period: `collected:${since}`, percent: collectedPercent, used: '0', allowance: '', tag: null },
      ...{ at: BigInt(now), body: '', state: 'waiting', tries: 0n, next_try_at: BigInt(since + hourMs), problem: null },
    })
    // Locks the row, so that replicas count one after the other.
    .onConflict((conflict) =>
      conflict.columns(['period', 'object_id', 'percent']).doUpdateSet({ percent: collectedPercent }),
    )
    .returning(['id', 'used'])
    .executeTakeFirstOrThrow();
  const alerts = Number(row.used) + 1;
  const body = JSON.stringify({
    type: 'alerts.collected',
    timestamp: new Date(since + hourMs).toISOString(),
    data: { alert_id: row.id, workspace_id: workspaceId, workspace, alerts, since: new Date(since).toISOString() },
  });
  // Once it was sent, a message stays the same. The audit trail has every alert.
  await transaction
    .updateTable('alerts')
    .set({ used: String(alerts), body })
    .where('id', '=', row.id)
    .where('tries', '=', 0n)
    .execute();
}
