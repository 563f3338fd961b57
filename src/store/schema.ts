import type { AccountStatus, BudgetPeriod, KeyStatus, Outcome } from '../core/account.ts';
import type { CountedBy } from '../core/money.ts';

/**
 * The tables, as the queries see them. Every integer is a 64-bit column and is read as a bigint, money and counts
 * alike, so that SQLite and PostgreSQL answer with the same values. Times are milliseconds since the Unix epoch.
 */
export interface Schema {
  readonly workspaces: WorkspaceTable;
  readonly keys: KeyTable;
  readonly credits: CreditTable;
  readonly ledger: LedgerTable;
  readonly spending: SpendingTable;
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

/**
 * What was spent with a key on one UTC day: the sum of its ledger rows that started on it, kept as they are written. Days
 * make up weeks and months, so a budget may be set, changed or moved to another period at any time and counts what was
 * spent before.
 */
export interface SpendingTable {
  readonly key_id: string;
  /** First moment of the day. */
  readonly day: bigint;
  readonly amount: bigint;
  /** When the last request of the day started. */
  readonly last_used_at: bigint;
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
  readonly counted_by: CountedBy;
  /** Null where the web was not to be searched. */
  readonly web_searches: bigint | null;
  readonly cost: bigint;
  readonly attempts: bigint;
  readonly started_at: bigint;
  readonly first_token_ms: bigint | null;
  readonly duration_ms: bigint;
}

/** The columns of the ledger in the order in which rows are written, with their types in the database. */
export const ledgerColumns = {
  request_id: 'text',
  correlation_id: 'text',
  workspace_id: 'text',
  key_id: 'text',
  model_id: 'text',
  route_id: 'text',
  surface: 'text',
  stream: 'bigint',
  kind: 'text',
  prompt_tokens: 'bigint',
  completion_tokens: 'bigint',
  cached_tokens: 'bigint',
  reasoning_tokens: 'bigint',
  counted_by: 'text',
  web_searches: 'bigint',
  cost: 'bigint',
  attempts: 'bigint',
  started_at: 'bigint',
  first_token_ms: 'bigint',
  duration_ms: 'bigint',
} as const satisfies Readonly<Record<keyof LedgerTable, 'text' | 'bigint'>>;

/** Their names. */
export const ledgerColumnNames: readonly (keyof LedgerTable)[] = Object.keys(ledgerColumns).filter(
  (name): name is keyof LedgerTable => name in ledgerColumns,
);
