import type { Money } from './money.ts';
import type { Usage } from './usage.ts';

export type AccountStatus = 'active' | 'suspended';
export type KeyStatus = 'active' | 'suspended' | 'revoked';
export type BudgetPeriod = 'day' | 'week' | 'month' | 'total';

/** Who pays. */
export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly status: AccountStatus;
  readonly balance: Money;
  readonly maxInFlight: number;
}

/** A credential of a workspace. Only the SHA-256 of its text is stored. */
export interface Key {
  readonly id: string;
  readonly workspaceId: string;
  readonly status: KeyStatus;
  readonly budget?: { readonly limit: Money; readonly period: BudgetPeriod };
  /** Sustained requests per second and burst. */
  readonly rate: number;
  readonly burst: number;
}

/** What admission finds for a presented key. */
export interface Credential {
  readonly key: Key;
  readonly workspace: Workspace;
}

export type OutcomeKind = 'completed' | 'cancelled' | 'interrupted' | 'incomplete' | 'failed';

/** How a request ended: all that billing and telemetry may know. Counts, ids, names and times; never content. */
export interface Outcome {
  /** Our id of the request, unique: settlement is idempotent by it. */
  readonly requestId: string;
  /** The caller's or Envoy's `x-request-id`, for correlation only. */
  readonly correlationId: string;
  readonly workspaceId: string;
  readonly keyId: string;
  readonly modelId: string;
  /** Route that delivered, for operators; absent when none did. */
  readonly routeId?: string;
  readonly surface: 'chat' | 'messages';
  readonly stream: boolean;
  readonly kind: OutcomeKind;
  /** What is billed. */
  readonly usage: Usage;
  /** True when a count was not reported by an engine but estimated. */
  readonly estimated: boolean;
  readonly cost: Money;
  readonly attempts: number;
  /** Wall clock, milliseconds since the Unix epoch. */
  readonly startedAt: number;
  readonly firstTokenMs?: number;
  readonly durationMs: number;
}
