import type { AccountStatus, BudgetPeriod, KeyStatus, Outcome } from '../core/account.ts';
import type { CountedBy, Money } from '../core/money.ts';
import { type AliasedRawBuilder, type Generated, sql } from 'kysely';
import type { Actor, AuditAction } from './audit.ts';

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
  readonly secrets: SecretTable;
  readonly audit: AuditTable;
  readonly reservations: ReservationTable;
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
  readonly name: string | null;
  readonly expires_at: bigint | null;
  /** The patterns of `core/model-patterns.ts` with a comma between them; null when the key may call every model. */
  readonly models: string | null;
}

/** Money put into a workspace, or taken back by a correction: what its balance is checked against, with the ledger. */
interface CreditTable {
  readonly id: string;
  readonly workspace_id: string;
  readonly amount: bigint;
  readonly created_at: bigint;
  /** Never null for a correction. */
  readonly note: string | null;
}

/** What one replica last told of its requests under way. */
interface ReservationTable {
  readonly replica: string;
  readonly workspace_id: string;
  readonly amount: bigint;
  readonly as_of: bigint;
}

/** One change of an account. Triggers refuse every update and delete. */
interface AuditTable {
  /** Counted by the database, in the order of the changes of an object. */
  readonly id: Generated<bigint>;
  readonly at: bigint;
  readonly actor_kind: Actor['kind'];
  readonly actor_name: string;
  readonly action: AuditAction;
  readonly object_id: string;
  /** Null where the change is about no workspace. */
  readonly workspace_id: string | null;
  /** The object before the change and after it, as JSON; null before it was made. */
  readonly before: string | null;
  readonly after: string;
}

/**
 * What was spent with a key on one UTC day: the sum of its ledger rows that started on that day, updated as they are written.
 * Weeks and months are sums of days, so a budget that is set, changed or moved to another period counts what was spent before.
 */
export interface SpendingTable {
  readonly key_id: string;
  /** First moment of the day. */
  readonly day: bigint;
  readonly amount: bigint;
  /** When the last request of the day started. */
  readonly last_used_at: bigint;
}

/** What all processes with this database know and nobody else (`readSharedSecret`). Never to be shown. */
interface SecretTable {
  readonly name: string;
  readonly value: string;
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

/**
 * The row of an outcome. Throws a RangeError when a count or a time is not a whole number or not a number at all:
 * the row is refused rather than written wrong.
 */
export function ledgerRow(outcome: Outcome): LedgerTable {
  const { usage } = outcome;
  return {
    request_id: outcome.requestId,
    correlation_id: outcome.correlationId,
    workspace_id: outcome.workspaceId,
    key_id: outcome.keyId,
    model_id: outcome.modelId,
    route_id: outcome.routeId ?? null,
    surface: outcome.surface,
    stream: outcome.stream ? 1n : 0n,
    kind: outcome.kind,
    prompt_tokens: BigInt(usage.promptTokens),
    completion_tokens: BigInt(usage.completionTokens),
    cached_tokens: optional(usage.cachedTokens),
    reasoning_tokens: optional(usage.reasoningTokens),
    counted_by: outcome.countedBy,
    web_searches: optional(usage.webSearches),
    cost: outcome.cost,
    attempts: BigInt(outcome.attempts),
    started_at: whole(outcome.startedAt),
    first_token_ms: outcome.firstTokenMs === undefined ? null : whole(outcome.firstTokenMs),
    duration_ms: whole(outcome.durationMs),
  };
}

/** The outcome a row was made of, its times rounded to milliseconds. */
export function outcomeOf(row: LedgerTable): Outcome {
  return {
    requestId: row.request_id,
    correlationId: row.correlation_id,
    workspaceId: row.workspace_id,
    keyId: row.key_id,
    modelId: row.model_id,
    routeId: row.route_id ?? undefined,
    surface: row.surface,
    stream: row.stream === 1n,
    kind: row.kind,
    usage: {
      promptTokens: Number(row.prompt_tokens),
      completionTokens: Number(row.completion_tokens),
      cachedTokens: numberOrNone(row.cached_tokens),
      reasoningTokens: numberOrNone(row.reasoning_tokens),
      webSearches: numberOrNone(row.web_searches),
    },
    countedBy: row.counted_by,
    cost: row.cost,
    attempts: Number(row.attempts),
    startedAt: Number(row.started_at),
    firstTokenMs: numberOrNone(row.first_token_ms),
    durationMs: Number(row.duration_ms),
  };
}

function optional(count: number | undefined): bigint | null {
  return count === undefined ? null : BigInt(count);
}

function numberOrNone(column: bigint | null): number | undefined {
  return column === null ? undefined : Number(column);
}

/** Rounds to whole milliseconds: monotonic clocks give fractions. */
function whole(milliseconds: number): bigint {
  return BigInt(Math.round(milliseconds));
}

const unit = 1_000_000;

/**
 * Sums a column of amounts as two columns, `<alias>_high` and `<alias>_low`. The sum of all that a workspace ever spent may
 * exceed 64 bits, which SQLite refuses and PostgreSQL widens to another type; the sums of the two parts stay within 64 bits.
 * Both databases truncate towards zero and give the remainder the sign of the dividend.
 */
export function exactSum<Alias extends string>(
  column: string,
  alias: Alias,
): [AliasedRawBuilder<bigint, `${Alias}_high`>, AliasedRawBuilder<bigint, `${Alias}_low`>] {
  const [amount, by] = [sql.ref(column), sql.lit(unit)];
  return [
    sql<bigint>`cast(coalesce(sum(${amount} / ${by}), 0) as bigint)`.as(`${alias}_high`),
    sql<bigint>`cast(coalesce(sum(${amount} % ${by}), 0) as bigint)`.as(`${alias}_low`),
  ];
}

/** Adds up the two columns of `exactSum`. */
export function exactTotal(high: bigint, low: bigint): Money {
  return high * BigInt(unit) + low;
}
