import type { AccountStatus, BudgetPeriod, KeyStatus, Outcome } from '../../core/account.ts';

/**
 * The tables, as the queries see them. Every integer is a 64-bit column and is read as a bigint, money and counts
 * alike, so that SQLite and PostgreSQL answer with the same values. Times are milliseconds since the Unix epoch.
 */
export interface Schema {
  readonly workspaces: WorkspaceTable;
  readonly keys: KeyTable;
  readonly credits: CreditTable;
  readonly ledger: LedgerTable;
}

interface WorkspaceTable {
  readonly id: string;
  readonly name: string;
  readonly status: AccountStatus;
  readonly balance: bigint;
  readonly max_in_flight: bigint;
  readonly created_at: bigint;
}

interface KeyTable {
  readonly id: string;
  /** SHA-256 of the key's text, lowercase hex. */
  readonly hash: string;
  readonly workspace_id: string;
  readonly status: KeyStatus;
  readonly budget_limit: bigint | null;
  readonly budget_period: BudgetPeriod | null;
  readonly rate: bigint;
  readonly burst: bigint;
  readonly created_at: bigint;
}

/** Money put into a workspace: what its balance is checked against, with the ledger. */
interface CreditTable {
  readonly id: string;
  readonly workspace_id: string;
  readonly amount: bigint;
  readonly created_at: bigint;
}

/** One settled request. Counts, ids, names and times; never content. */
export interface LedgerTable {
  readonly request_id: string;
  readonly correlation_id: string;
  readonly workspace_id: string;
  readonly key_id: string;
  readonly model_id: string;
  readonly route_id: string | null;
  readonly surface: Outcome['surface'];
  readonly stream: bigint;
  readonly kind: Outcome['kind'];
  readonly prompt_tokens: bigint;
  readonly completion_tokens: bigint;
  /** Null when nobody reported it, which is not zero. */
  readonly cached_tokens: bigint | null;
  readonly reasoning_tokens: bigint | null;
  readonly estimated: bigint;
  readonly cost: bigint;
  readonly attempts: bigint;
  readonly started_at: bigint;
  readonly first_token_ms: bigint | null;
  readonly duration_ms: bigint;
}
