import { type RawBuilder, sql } from 'kysely';

/** Which requests; an absent field does not restrict. */
export interface LedgerFilter {
  readonly workspaceId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly modelId?: string | undefined;
  /** Started at or after this moment, milliseconds since the Unix epoch. */
  readonly since?: number | undefined;
  /** Started before this moment. */
  readonly until?: number | undefined;
}

/** Conditions on the columns `key` and `model` of a rollup, of whom and what is asked for. */
export function usageOfFilter({ workspaceId, keyId, modelId }: LedgerFilter): RawBuilder<unknown> {
  const conditions = [sql`1 = 1`];
  if (workspaceId !== undefined)
    conditions.push(sql`key in (select number from ledger_keys where workspace_id = ${workspaceId})`);
  if (keyId !== undefined) conditions.push(sql`key = (select number from ledger_keys where key_id = ${keyId})`);
  if (modelId !== undefined) conditions.push(sql`model = (select number from ledger_models where name = ${modelId})`);
  return sql.join(conditions, sql` and `);
}

/** The same on the table of the version before. */
export function oldRowsOfFilter({ workspaceId, keyId, modelId, since, until }: LedgerFilter): RawBuilder<unknown> {
  const conditions = [sql`1 = 1`];
  if (workspaceId !== undefined) conditions.push(sql`ledger.workspace_id = ${workspaceId}`);
  if (keyId !== undefined) conditions.push(sql`ledger.key_id = ${keyId}`);
  if (modelId !== undefined) conditions.push(sql`ledger.model_id = ${modelId}`);
  if (since !== undefined) conditions.push(sql`ledger.started_at >= ${since}`);
  if (until !== undefined) conditions.push(sql`ledger.started_at < ${until}`);
  return sql.join(conditions, sql` and `);
}
