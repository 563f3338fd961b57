import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { budgetPeriods } from '../../core/account.ts';
import { type AlertRecord, defaultThresholds, reachedThresholds } from '../../core/alert.ts';
import { formatUsd, type Money } from '../../core/money.ts';
import { exactSum, exactTotal, type Schema } from '../databases/schema.ts';
import { recordChange } from './audit.ts';
import { periodStart } from './budget-period.ts';
import { ownThresholds } from './thresholds.ts';

/**
 * How long after the end of a period its last thresholds are still looked for. A look comes some seconds after a
 * settlement, and a settlement after the request that belongs to the period.
 */
const lateMs = 10 * 60_000;

/** How much of an allowance is used: of a key's budget, or of a workspace's credit. */
interface Usage {
  readonly kind: AlertRecord['kind'];
  readonly objectId: string;
  readonly workspaceId: string;
  readonly workspace: string;
  readonly keyName: string | null;
  /** Unique in the object: a threshold is reached once in it. */
  readonly period: string;
  readonly periodStart: number | undefined;
  readonly used: Money;
  readonly limit: Money;
}

/**
 * Records each threshold that was reached since the last look, once, with its entry in the audit trail and the webhook
 * that is to be sent, in one transaction for each. Several processes may look at the same time: the unique key of the
 * table lets one of them record a threshold. Returns how many this call has recorded.
 */
export async function recordReached(
  queries: Kysely<Schema>,
  { deliver }: { /** Whether a webhook is set. */ readonly deliver: boolean },
  now: number,
): Promise<number> {
  const usages = [...(await balances(queries)), ...(await budgets(queries, now))];
  const own = await ownThresholds(queries);
  const reached = usages.flatMap((usage) =>
    reachedThresholds(own.get(usage.objectId) ?? defaultThresholds, usage.used, usage.limit).map((percent) => ({
      ...usage,
      percent,
    })),
  );
  if (reached.length === 0) return 0;
  const known = await recorded(queries, [
    ...new Set(reached.flatMap(({ kind, period }) => (kind === 'budget' ? period : []))),
  ]);
  let count = 0;
  for (const threshold of reached) {
    if (!known.has(nameOf(threshold)) && (await record(queries, threshold, { deliver, now }))) count += 1;
  }
  return count;
}

function nameOf({ period, objectId, percent }: Pick<Usage, 'period' | 'objectId'> & { readonly percent: number }) {
  return `${period} ${objectId} ${percent}`;
}

/** The used part of each workspace's balance. The whole is the balance right after the last credit, with the credit limit. */
async function balances(queries: Kysely<Schema>): Promise<readonly Usage[]> {
  const rows = await queries
    .selectFrom('workspaces')
    .select(['id', 'name', 'balance', 'credit_limit', 'alert_base', 'alert_period'])
    .whereRef('balance', '<', 'alert_base')
    .execute();
  return rows.flatMap(({ id, name, balance, credit_limit: creditLimit, alert_base: base, alert_period: number }) => {
    const [used, limit] = [base - balance, base + creditLimit];
    if (limit <= 0n) return [];
    const of = { objectId: id, workspaceId: id, workspace: name, keyName: null, periodStart: undefined };
    return [{ ...of, kind: 'balance', period: `credit:${number}`, used, limit } as const];
  });
}

/** The spent part of each key's budget, in the current period and in one that has just ended. */
async function budgets(queries: Kysely<Schema>, now: number): Promise<readonly Usage[]> {
  const usages: Usage[] = [];
  for (const period of budgetPeriods) {
    const start = periodStart(period, now);
    const earlier = periodStart(period, now - lateMs);
    const spans =
      earlier === start
        ? [{ since: start, until: undefined }]
        : [
            { since: earlier, until: start },
            { since: start, until: undefined },
          ];
    for (const { since, until } of spans) {
      let query = queries
        .selectFrom('spending')
        .innerJoin('keys', 'keys.id', 'spending.key_id')
        .innerJoin('workspaces', 'workspaces.id', 'keys.workspace_id')
        .where('keys.budget_period', '=', period)
        .where('keys.budget_limit', '>', 0n)
        .where('keys.status', '<>', 'revoked')
        .where('spending.day', '>=', BigInt(since));
      if (until !== undefined) query = query.where('spending.day', '<', BigInt(until));
      const rows = await query
        .groupBy(['keys.id', 'workspaces.id'])
        .select(['keys.id', 'keys.workspace_id', 'keys.name', 'keys.budget_limit', 'workspaces.name as workspace'])
        .select(exactSum('spending.amount', 'spent'))
        .execute();
      usages.push(
        ...rows.map((row) => ({
          kind: 'budget' as const,
          ...{ objectId: row.id, workspaceId: row.workspace_id, workspace: row.workspace, keyName: row.name },
          ...{ period: `${period}:${since}`, periodStart: since },
          used: exactTotal(row.spent_high, row.spent_low),
          limit: row.budget_limit ?? 0n,
        })),
      );
    }
  }
  return usages;
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

async function record(
  queries: Kysely<Schema>,
  threshold: Usage & { readonly percent: number },
  { deliver, now }: { readonly deliver: boolean; readonly now: number },
): Promise<boolean> {
  const { kind, objectId, workspaceId, period, percent } = threshold;
  const id = `alert_${randomBytes(12).toString('hex')}`;
  const [used, limit] = [formatUsd(threshold.used), formatUsd(threshold.limit)];
  return queries.transaction().execute(async (transaction) => {
    const { numInsertedOrUpdatedRows: inserted } = await transaction
      .insertInto('alerts')
      .values({
        ...{ id, object_id: objectId, workspace_id: workspaceId, period, used, allowance: limit },
        percent: BigInt(percent),
        at: BigInt(now),
        body: bodyOf(threshold, { id, used, limit, now }),
        state: deliver ? 'waiting' : 'none',
        tries: 0n,
        next_try_at: BigInt(now),
        problem: null,
      })
      .onConflict((conflict) => conflict.columns(['period', 'object_id', 'percent']).doNothing())
      .executeTakeFirst();
    if (inserted !== 1n) return false;
    const action = kind === 'budget' ? 'key.threshold-reached' : 'workspace.threshold-reached';
    const after = { percent, used, limit, alert: id };
    const actor = { kind: 'service', name: 'thresholds' } as const;
    await recordChange(transaction, { action, objectId, workspaceId, before: undefined, after }, { actor, now });
    return true;
  });
}

/** The body of the webhook, in the form that Standard Webhooks recommends. It has no secret. */
function bodyOf(
  {
    kind,
    objectId,
    workspaceId,
    workspace,
    keyName,
    period,
    periodStart: start,
    percent,
  }: Usage & { readonly percent: number },
  {
    id,
    used,
    limit,
    now,
  }: { readonly id: string; readonly used: string; readonly limit: string; readonly now: number },
): string {
  const ofBudget = { key_id: objectId, key_name: keyName, period: period.split(':')[0], ...startOf(start) };
  return JSON.stringify({
    type: `${kind}.threshold_reached`,
    timestamp: new Date(now).toISOString(),
    data: {
      ...{ alert_id: id, workspace_id: workspaceId, workspace },
      ...(kind === 'budget' && ofBudget),
      ...{ threshold_percent: percent, used_usd: used, limit_usd: limit },
    },
  });
}

/** A budget in total has no start. */
function startOf(start: number | undefined) {
  return start === undefined || start === 0 ? {} : { period_start: new Date(start).toISOString() };
}

/** The newest alerts of a workspace and its keys. */
export async function listAlerts(
  queries: Kysely<Schema>,
  workspaceId: string,
  limit: number,
): Promise<readonly AlertRecord[]> {
  const rows = await queries
    .selectFrom('alerts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy('at', 'desc')
    .orderBy('percent', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    kind: row.object_id === row.workspace_id ? 'balance' : 'budget',
    workspaceId: row.workspace_id,
    keyId: row.object_id === row.workspace_id ? undefined : row.object_id,
    percent: Number(row.percent),
    ...{ used: row.used, limit: row.allowance, at: Number(row.at), delivery: row.state },
  }));
}
