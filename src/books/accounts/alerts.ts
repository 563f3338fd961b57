import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { AuditAction } from '../core/administration.ts';
import { type AlertRecord, defaultThresholds, reachedThresholds } from '../../core/alert.ts';
import { formatUsd } from '../../core/money.ts';
import type { Schema } from '../databases/schema.ts';
import { noteEvent } from '../outbox/note-events.ts';
import { allowancesInUse, type UsedAllowance } from './allowances.ts';
import { recordChange } from './audit.ts';
import { collectAlert, collectedPercent, hasOwnMessage } from './collected-alerts.ts';
import { ownThresholds } from './thresholds.ts';

/**
 * Records each threshold that was reached since the last look, once, with its entry in the audit trail, its event and the
 * webhook that is to be sent, in one transaction for each. Beyond `maxAlertMessages` of a workspace, webhooks are
 * collected. Several processes may look at the same time: the unique key of the table lets one of them record a threshold.
 * Returns how many this call has recorded.
 */
export async function recordReached(queries: Kysely<Schema>, now: number): Promise<number> {
  const usages = await allowancesInUse(queries, now);
  const own = await ownThresholds(queries);
  const reached = usages.flatMap((usage) => {
    const { objectId, used, limit, inherited = 0n } = usage;
    const thresholds = own.get(objectId) ?? defaultThresholds;
    const before = new Set(inherited > 0n ? reachedThresholds(thresholds, inherited, limit) : []);
    return reachedThresholds(thresholds, used, limit).flatMap((percent) =>
      before.has(percent) ? [] : [{ ...usage, percent }],
    );
  });
  if (reached.length === 0) return 0;
  const known = await recorded(queries, [
    ...new Set(reached.flatMap(({ kind, period }) => (kind === 'balance' ? [] : period))),
  ]);
  const deliver = await sendsWebhooks(queries);
  let count = 0;
  for (const threshold of reached) {
    if (!known.has(nameOf(threshold)) && (await record(queries, threshold, { deliver, now }))) count += 1;
  }
  return count;
}

/** Whether a service has a receiver of webhooks. */
async function sendsWebhooks(queries: Kysely<Schema>): Promise<boolean> {
  const row = await queries
    .selectFrom('event_subscriptions')
    .select('name')
    .where('name', '=', 'alerts')
    .executeTakeFirst();
  return row !== undefined;
}

function nameOf({
  period,
  objectId,
  percent,
}: Pick<UsedAllowance, 'period' | 'objectId'> & { readonly percent: number }) {
  return `${period} ${objectId} ${percent}`;
}

/** The thresholds that are recorded, of these periods of budgets and of the current periods of balances. */
async function recorded(queries: Kysely<Schema>, periods: readonly string[]): Promise<ReadonlySet<string>> {
  const ofBalances = await queries
    .selectFrom('alerts')
    .innerJoin('workspaces', 'workspaces.id', 'alerts.object_id')
    .where('alerts.period', '=', sql<string>`'credit:' || cast(workspaces.alert_period as text)`)
    .select(['alerts.period', 'alerts.object_id', 'alerts.percent'])
    .execute();
  const ofBudgets =
    periods.length === 0
      ? []
      : await queries
          .selectFrom('alerts')
          .where('period', 'in', periods)
          .select(['period', 'object_id', 'percent'])
          .execute();
  const all = [...ofBalances, ...ofBudgets];
  return new Set(all.map((row) => nameOf({ ...row, objectId: row.object_id, percent: Number(row.percent) })));
}

const actions = {
  budget: 'key.threshold-reached',
  balance: 'workspace.threshold-reached',
  tag: 'workspace.tag-threshold-reached',
} as const satisfies Readonly<Record<AlertRecord['kind'], AuditAction>>;

async function record(
  queries: Kysely<Schema>,
  threshold: UsedAllowance & { readonly percent: number },
  { deliver, now }: { readonly deliver: boolean; readonly now: number },
): Promise<boolean> {
  const { kind, objectId, workspaceId, period, percent } = threshold;
  const id = `alert_${randomBytes(12).toString('hex')}`;
  const [used, limit] = [formatUsd(threshold.used), formatUsd(threshold.limit)];
  return queries.transaction().execute(async (transaction) => {
    const isAlone = deliver && (await hasOwnMessage(transaction, workspaceId, now));
    const { numInsertedOrUpdatedRows: inserted } = await transaction
      .insertInto('alerts')
      .values({
        ...{ id, object_id: objectId, workspace_id: workspaceId, period, used, allowance: limit },
        tag: threshold.kind === 'tag' ? threshold.tag : null,
        percent: BigInt(percent),
        at: BigInt(now),
        body: bodyOf(threshold, { id, used, limit, now }),
        state: isAlone ? 'waiting' : 'none',
        tries: 0n,
        next_try_at: BigInt(now),
      })
      .onConflict((conflict) => conflict.columns(['period', 'object_id', 'percent']).doNothing())
      .executeTakeFirst();
    if (inserted !== 1n) return false;
    await noteEvent(transaction, { kind: 'alert', ref: id, at: now });
    if (isAlone) await noteEvent(transaction, { kind: 'message', ref: id, at: now });
    if (deliver && !isAlone) await collectAlert(transaction, threshold, now);
    const audited = kind === 'tag' ? workspaceId : objectId;
    const after = { ...(kind === 'tag' && { tag: threshold.tag }), percent, used, limit, alert: id };
    const change = { action: actions[kind], objectId: audited, workspaceId, before: undefined, after };
    await recordChange(transaction, change, { actor: { kind: 'service', name: 'thresholds' }, now });
    return true;
  });
}

/** The body of the webhook, in the form that Standard Webhooks recommends. It has no secret. */
function bodyOf(
  threshold: UsedAllowance & { readonly percent: number },
  {
    id,
    used,
    limit,
    now,
  }: { readonly id: string; readonly used: string; readonly limit: string; readonly now: number },
): string {
  const { kind, workspaceId, workspace, percent } = threshold;
  return JSON.stringify({
    type: `${kind}.threshold_reached`,
    timestamp: new Date(now).toISOString(),
    data: {
      ...{ alert_id: id, workspace_id: workspaceId, workspace },
      ...ownFields(threshold),
      ...{ threshold_percent: percent, used_usd: used, limit_usd: limit },
    },
  });
}

function ownFields(used: UsedAllowance) {
  switch (used.kind) {
    case 'balance':
      return {};
    case 'budget':
      return { key_id: used.objectId, key_name: used.keyName, ...periodFields(used) };
    case 'tag':
      return { tag: used.tag, ...periodFields(used) };
  }
}

/** A budget in total has no start. */
function periodFields({ period, periodStart }: { readonly period: string; readonly periodStart: number }) {
  const start = periodStart === 0 ? {} : { period_start: new Date(periodStart).toISOString() };
  return { period: period.split(':')[0], ...start };
}

/** The newest alerts of a workspace, its keys and its tags. */
export async function listAlerts(
  queries: Kysely<Schema>,
  workspaceId: string,
  limit: number,
): Promise<readonly AlertRecord[]> {
  const rows = await queries
    .selectFrom('alerts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('percent', '>', collectedPercent)
    .orderBy('at', 'desc')
    .orderBy('percent', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    ...{ id: row.id, ...allowanceOf(row), workspaceId: row.workspace_id, percent: Number(row.percent) },
    ...{ used: row.used, limit: row.allowance, at: Number(row.at), delivery: row.state },
  }));
}

function allowanceOf({
  object_id: objectId,
  workspace_id: workspaceId,
  tag,
}: {
  readonly object_id: string;
  readonly workspace_id: string;
  readonly tag: string | null;
}): Pick<AlertRecord, 'kind' | 'keyId' | 'tag'> {
  if (tag !== null) return { kind: 'tag', keyId: undefined, tag };
  if (objectId === workspaceId) return { kind: 'balance', keyId: undefined, tag: undefined };
  return { kind: 'budget', keyId: objectId, tag: undefined };
}
