import type { Kysely, Transaction } from 'kysely';
import type { KeyStatus } from '../../core/account.ts';
import type { Thresholds } from '../../core/alert.ts';
import {
  type AuditAction,
  type Authorship,
  type Budget,
  type KeyChange,
  type KeyDetails,
  type KeyRecord,
  Refusal,
} from '../core/administration.ts';
import type { Schema } from '../databases/schema.ts';
import { refuseDeclared } from './declarations.ts';
import { budgetColumns, columnOf, detailColumns, findKey, recordKey } from './keys.ts';
import { limitSessionsOf } from './sessions.ts';
import { changeThresholds } from './thresholds.ts';

const statusActions = { active: 'key.resume', suspended: 'key.suspend', revoked: 'key.revoke' } as const;

/** A change of a key: its name in the audit trail, and the columns that it writes. */
interface ChangeStep {
  readonly action: AuditAction;
  readonly columnsFor: (before: KeyRecord) => Partial<Schema['keys']>;
}

/** Suspends, activates or revokes a key. Throws a `Refusal` if a revoked key is to be suspended or activated. */
export async function setKeyStatus(
  queries: Kysely<Schema>,
  id: string,
  status: KeyStatus,
  by: Authorship,
): Promise<KeyRecord> {
  return change(queries, id, { steps: [statusStep(status)], by });
}

function statusStep(status: KeyStatus): ChangeStep {
  return {
    action: statusActions[status],
    columnsFor: ({ id, status: before }) => {
      if (before === 'revoked' && status !== 'revoked') {
        throw new Refusal(`The key "${id}" was revoked, and that is final.`, {
          kind: 'conflict',
          hint: '`weir key create` makes a new one.',
          field: 'status',
        });
      }
      return { status };
    },
  };
}

/** Sets the budget of a key, or removes it. */
export async function setKeyBudget(
  queries: Kysely<Schema>,
  id: string,
  budget: Budget | undefined,
  by: Authorship,
): Promise<KeyRecord> {
  return change(queries, id, { steps: [budgetStep(budget)], by });
}

function budgetStep(budget: Budget | undefined): ChangeStep {
  return { action: 'key.budget', columnsFor: () => budgetColumns(budget) };
}

type KeyLimits = Pick<KeyChange, 'rate' | 'burst'>;

/** Changes the rate or the burst of a key, or both. */
export async function setKeyLimits(
  queries: Kysely<Schema>,
  id: string,
  limits: KeyLimits,
  by: Authorship,
): Promise<KeyRecord> {
  return change(queries, id, { steps: [limitsStep(limits)], by });
}

function limitsStep(limits: KeyLimits): ChangeStep {
  return {
    action: 'key.limits',
    columnsFor: (before) => {
      const { rate = before.rate, burst = before.burst } = limits;
      return { rate: BigInt(rate), burst: BigInt(burst) };
    },
  };
}

/**
 * Changes the details that are present in `details`, and no others. A detail that is present and undefined is removed.
 * Throws a `Refusal` like `createKey`.
 */
export async function updateKey(
  queries: Kysely<Schema>,
  id: string,
  details: KeyDetails,
  by: Authorship,
): Promise<KeyRecord> {
  return change(queries, id, { steps: [detailsStep(details, by)], by });
}

function detailsStep(details: KeyDetails, by: Authorship): ChangeStep {
  return {
    action: 'key.update',
    columnsFor: (before) => {
      const columns = detailColumns({ ...before, expiresAt: undefined, ...details }, by);
      // An expiry that stays the same is not checked: it may have passed.
      return 'expiresAt' in details ? columns : { ...columns, expires_at: columnOf(before.expiresAt) };
    },
  };
}

/** Makes several changes of a key in one transaction: all of them or none. Throws a `Refusal` like the single changes. */
export async function changeKey(
  queries: Kysely<Schema>,
  id: string,
  wanted: KeyChange,
  by: Authorship,
): Promise<KeyRecord> {
  return change(queries, id, { steps: stepsOf(wanted, by), thresholds: thresholdsOf(wanted), by });
}

/** Like `changeKey`, in a transaction, for the object that declares the key. It may also revoke the key. */
export async function changeLockedKey(
  transaction: Transaction<Schema>,
  id: string,
  { status, ...wanted }: Omit<KeyChange, 'status'> & { readonly status?: KeyStatus | undefined },
  by: Authorship,
): Promise<KeyRecord> {
  const steps = [...(status === undefined ? [] : [statusStep(status)]), ...stepsOf(wanted, by)];
  return changeInside(transaction, id, { steps, thresholds: thresholdsOf(wanted), by });
}

interface ThresholdChange {
  /** Undefined: the default again. */
  readonly percents: Thresholds | undefined;
}

function thresholdsOf(wanted: KeyChange): ThresholdChange | undefined {
  return 'thresholds' in wanted ? { percents: wanted.thresholds } : undefined;
}

interface KeyChanges {
  readonly steps: readonly ChangeStep[];
  /** Undefined: they stay as they are. */
  readonly thresholds?: ThresholdChange | undefined;
  readonly by: Authorship;
}

function stepsOf(wanted: KeyChange, by: Authorship): readonly ChangeStep[] {
  const { status, budget, rate, burst, thresholds: _, ...details } = wanted;
  return [
    ...(status === undefined ? [] : [statusStep(status)]),
    ...('budget' in wanted ? [budgetStep(budget)] : []),
    ...(rate === undefined && burst === undefined ? [] : [limitsStep({ rate, burst })]),
    ...(Object.keys(details).length === 0 ? [] : [detailsStep(details, by)]),
  ];
}

/**
 * Changes a key and records the change. The key is locked, so no other process changes it between the read and the
 * write of a step.
 */
async function change(queries: Kysely<Schema>, id: string, changes: KeyChanges): Promise<KeyRecord> {
  return queries.transaction().execute(async (transaction) => {
    await refuseDeclared(transaction, id, changes.by);
    return changeInside(transaction, id, changes);
  });
}

async function changeInside(
  transaction: Transaction<Schema>,
  id: string,
  { steps, thresholds, by }: KeyChanges,
): Promise<KeyRecord> {
  await transaction
    .updateTable('keys')
    .set((columns) => ({ status: columns.ref('status') }))
    .where('id', '=', id)
    .execute();
  let key = await findKey(transaction, id);
  for (const { action, columnsFor } of steps) {
    await transaction.updateTable('keys').set(columnsFor(key)).where('id', '=', id).execute();
    const after = await findKey(transaction, id);
    await recordKey(transaction, { action, before: key, after }, by);
    key = after;
  }
  if (thresholds !== undefined) {
    const { workspaceId } = key;
    await changeThresholds(transaction, { action: 'key.thresholds', objectId: id, workspaceId, ...thresholds }, by);
  }
  await limitSessionsOf(transaction, key);
  return key;
}
