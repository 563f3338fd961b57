import { type RawBuilder, sql } from 'kysely';
import type { LedgerFilter } from '../core/administration.ts';
import { kindCodes } from './usage-rollup.ts';

/** Conditions on the columns `key`, `model` and `outcome` of a rollup, of whom and what is asked for. */
export function usageOfFilter({ workspaceId, keyId, modelId, outcome }: LedgerFilter): RawBuilder<unknown> {
  const conditions = [sql`1 = 1`];
  if (workspaceId !== undefined)
    conditions.push(sql`key in (select number from ledger_keys where workspace_id = ${workspaceId})`);
  if (keyId !== undefined) conditions.push(sql`key = (select number from ledger_keys where key_id = ${keyId})`);
  if (modelId !== undefined) conditions.push(sql`model = (select number from ledger_models where name = ${modelId})`);
  if (outcome !== undefined) conditions.push(sql`outcome = ${kindCodes.codeOf(outcome)}`);
  return sql.join(conditions, sql` and `);
}

/** The same on the table of the version before. */
export function oldRowsOfFilter({
  workspaceId,
  keyId,
  modelId,
  outcome,
  since,
  until,
}: LedgerFilter): RawBuilder<unknown> {
  const conditions = [sql`1 = 1`];
  if (workspaceId !== undefined) conditions.push(sql`ledger.workspace_id = ${workspaceId}`);
  if (keyId !== undefined) conditions.push(sql`ledger.key_id = ${keyId}`);
  if (modelId !== undefined) conditions.push(sql`ledger.model_id = ${modelId}`);
  if (outcome !== undefined) conditions.push(sql`ledger.kind = ${outcome}`);
  if (since !== undefined) conditions.push(sql`ledger.started_at >= ${since}`);
  if (until !== undefined) conditions.push(sql`ledger.started_at < ${until}`);
  return sql.join(conditions, sql` and `);
}
