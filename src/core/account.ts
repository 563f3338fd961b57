import type { Thresholds } from './alert.ts';
import type { RefusedFor } from './event.ts';
import type { ModelPatterns } from './model-patterns.ts';
import type { Money } from './money.ts';
import type { SettledRequest } from './settled-request.ts';
import type { CountedTags } from './tags.ts';

export const accountStatuses = ['active', 'suspended'] as const;
export type AccountStatus = (typeof accountStatuses)[number];
export const keyStatuses = [...accountStatuses, 'revoked'] as const;
export type KeyStatus = (typeof keyStatuses)[number];
export const budgetPeriods = ['day', 'week', 'month', 'total'] as const;
export type BudgetPeriod = (typeof budgetPeriods)[number];

/** A customer that pays for its keys' requests from one balance. */
export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly status: AccountStatus;
  readonly balance: Money;
  readonly maxInFlight: number;
  /** Post-paid: how far the balance may be below zero for a new request. Absent: 0. */
  readonly creditLimit?: Money | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** A credential of a workspace. Only the SHA-256 of its text is stored. */
export interface Key {
  readonly id: string;
  readonly workspaceId: string;
  readonly status: KeyStatus;
  readonly budget?: { readonly limit: Money; readonly period: BudgetPeriod } | undefined;
  /** Sustained requests per second and burst. */
  readonly rate: number;
  readonly burst: number;
  /** The key is good until this moment, milliseconds since the Unix epoch. Undefined: for good. */
  readonly expiresAt?: number | undefined;
  /** Undefined: every model. */
  readonly models?: ModelPatterns | undefined;
}

/** A budget of a tag: what may be spent in a period on the requests of a workspace that have it. */
export interface TagBudget {
  /** `team=search` */
  readonly tag: string;
  readonly limit: Money;
  readonly period: BudgetPeriod;
  /** Settled in the current period. Like `Credential.spent`, it may lack the last second of other replicas. */
  readonly spent: Money;
}

/** The budget of a tag (`team=search`) in a workspace, and what was spent of it in its current period. */
export interface TagBudgetRecord {
  readonly tag: string;
  readonly budget: NonNullable<Key['budget']>;
  readonly spent: Money;
  readonly thresholds: Thresholds;
}

/** The facts that the store has about a presented key. */
export interface Credential {
  readonly key: Key;
  readonly workspace: Workspace;
  /**
   * The amount settled with the key in the current period of its budget (`periodStart` of
   * src/books/accounts/budget-period.ts), for requests that started in that period. Settlements of other replicas can
   * be up to a second late. 0 when a period begins, and for a key without a budget.
   */
  readonly spent: Money;
  /** The budgets of the workspace's tags, by tag. Later settlements change the map. Absent: none. */
  readonly tagBudgets?: ReadonlyMap<string, TagBudget> | undefined;
  /** Which tags do not count as `other`. Absent: nothing that has a budget counts as `other`. */
  readonly countedTags?: CountedTags | undefined;
}

/** When the output of an answer was delivered, for measuring. Times are milliseconds since the request, not rounded. */
export interface OutputTiming {
  /** Delivered output tokens, without reasoning that the engine counts but does not send. */
  readonly tokens: number;
  /** How many of these tokens the first delivery had. One token is counted for each of the engine's own deltas. */
  readonly tokensAtFirst: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** How a request ended: all facts for billing and telemetry. The ledger keeps only the fields of `SettledRequest`. */
export interface Outcome extends SettledRequest {
  /**
   * Absent when nothing was delivered, and when several choices were generated side by side: their common pace is not
   * that of one answer.
   */
  readonly output?: OutputTiming | undefined;
  /** Why the request failed, if the routes that were called gave a reason. */
  readonly refusedFor?: RefusedFor | undefined;
}

/** Whether the request has anything to count. `countedBy` means nothing for a request that no engine answered. */
export function isCounted({ kind, usage }: Pick<SettledRequest, 'kind' | 'usage'>): boolean {
  return kind === 'completed' || usage.promptTokens + usage.completionTokens + (usage.webSearches ?? 0) > 0;
}

/** `down`: rows go to the journal. `replaying`: the database answers again, and the rows of the journal come first. */
export type DatabaseState = 'up' | 'replaying' | 'down';

/** The accounts and the ledger, as the pipeline uses them. Every call is asynchronous and never blocks the event loop. */
export interface Store {
  /**
   * Finds the credential for the SHA-256 (lowercase hex) of a key's text; undefined when there is none. Answers from
   * memory when it can; a change by another process is visible within a second. While the database is down, known keys
   * are still found for a limited time. The search for any other key then rejects with a `Failure` (503) and never
   * resolves to undefined.
   */
  readonly findCredential: (keyHash: string) => Credential | undefined | Promise<Credential | undefined>;
  /**
   * Writes one ledger row and subtracts its cost from the balance and the budget, once per request id. Resolves when
   * the row is durable: in the database, or in the journal while the database is down.
   */
  readonly settle: (outcome: Outcome) => Promise<void>;
  /**
   * Whether a request that begins now can be settled when it ends. If not (the journal is full, or too many rows wait),
   * admission answers 503 before dispatch. Answers from memory.
   */
  readonly canSettle: () => boolean;
}
