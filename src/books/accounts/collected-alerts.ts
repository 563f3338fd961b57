import { randomBytes } from 'node:crypto';
import type { Transaction } from 'kysely';
import { listBounds } from '../../core/limits.ts';
import type { Schema } from '../databases/schema.ts';
import { dayStart } from '../core/budget-period.ts';
import { noteEvent } from '../outbox/note-events.ts';

// A person can make keys and thresholds at no cost. So a workspace has a bound of messages for single alerts in a UTC day,
// and those beyond it are in one message for each hour.

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The row of a collected message is no alert: its percentage is 0, which no threshold can be. */
export const collectedPercent = 0n;

/** Replicas that record alerts at the same moment can pass the bound together. */
export async function hasOwnMessage(
  transaction: Transaction<Schema>,
  workspaceId: string,
  now: number,
): Promise<boolean> {
  const since = dayStart(now);
  const { size } = await transaction
    .selectFrom('alerts')
    .select(({ fn }) => fn.countAll<number | bigint>().as('size'))
    .where('workspace_id', '=', workspaceId)
    .where('at', '>=', BigInt(since))
    // Later alerts were recorded before the clock was set back.
    .where('at', '<', BigInt(since + dayMs))
    .where('percent', '>', collectedPercent)
    .where('state', '<>', 'none')
    .executeTakeFirstOrThrow();
  return Number(size) < listBounds.maxAlertMessages;
}

/**
 * Counts an alert in the message that is sent a minute after this hour is over. If that message was sent already, because the
 * clock was set back, the hour gets another one.
 */
export async function collectAlert(
  transaction: Transaction<Schema>,
  workspace: CollectedFor,
  now: number,
): Promise<void> {
  const since = now - (now % hourMs);
  let period = `collected:${since}`;
  for (let next = 2; !(await collectIn(transaction, workspace, { period, since, now })); next += 1)
    period = `collected:${since}:${next}`;
}

interface CollectedFor {
  readonly workspaceId: string;
  readonly workspace: string;
}

/** Returns false if the message of the period was sent. */
async function collectIn(
  transaction: Transaction<Schema>,
  { workspaceId, workspace }: CollectedFor,
  { period, since, now }: { readonly period: string; readonly since: number; readonly now: number },
): Promise<boolean> {
  const row = await transaction
    .insertInto('alerts')
    .values({
      ...{ id: `alert_${randomBytes(12).toString('hex')}`, object_id: workspaceId, workspace_id: workspaceId },
      ...{ period, percent: collectedPercent, used: '0', allowance: '', tag: null },
      ...{ at: BigInt(now), body: '', state: 'waiting', tries: 0n, next_try_at: BigInt(since + hourMs) },
    })
    // Locks the row, so that replicas count one after the other.
    .onConflict((conflict) =>
      conflict.columns(['period', 'object_id', 'percent']).doUpdateSet({ percent: collectedPercent }),
    )
    .returning(['id', 'used', 'state'])
    .executeTakeFirstOrThrow();
  if (row.state !== 'waiting') return false;
  // Replicas whose clocks differ by less than a minute still count in it.
  if (row.used === '0') await noteEvent(transaction, { kind: 'message', ref: row.id, at: since + hourMs + minuteMs });
  const alerts = Number(row.used) + 1;
  const body = JSON.stringify({
    type: 'alerts.collected',
    timestamp: new Date(since + hourMs).toISOString(),
    data: { alert_id: row.id, workspace_id: workspaceId, workspace, alerts, since: new Date(since).toISOString() },
  });
  await transaction
    .updateTable('alerts')
    .set({ used: String(alerts), body })
    .where('id', '=', row.id)
    .execute();
  return true;
}
