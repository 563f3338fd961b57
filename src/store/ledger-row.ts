import type { Outcome } from '../core/account.ts';
import type { CountedBy } from '../core/money.ts';

/** One settled request as the journal has it. Counts, ids, names and times; never content. */
export interface LedgerRow {
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
  /** Null where no attempt was made. */
  readonly routes: bigint | null;
  readonly started_at: bigint;
  readonly first_token_ms: bigint | null;
  readonly duration_ms: bigint;
}

/** The fields of a row in the order in which they are written to the journal. */
export const ledgerFields = [
  'request_id',
  'correlation_id',
  'workspace_id',
  'key_id',
  'model_id',
  'route_id',
  'surface',
  'stream',
  'kind',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'counted_by',
  'web_searches',
  'cost',
  'attempts',
  'started_at',
  'first_token_ms',
  'duration_ms',
  'routes',
] as const satisfies readonly (keyof LedgerRow)[];

/**
 * The row of an outcome. Throws a RangeError when a count or a time is not a whole number or not a number at all:
 * the row is refused rather than written wrong.
 */
export function ledgerRow(outcome: Outcome): LedgerRow {
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
    routes: optional(outcome.routes),
    started_at: whole(outcome.startedAt),
    first_token_ms: outcome.firstTokenMs === undefined ? null : whole(outcome.firstTokenMs),
    duration_ms: whole(outcome.durationMs),
  };
}

/** The outcome a row was made of, its times rounded to milliseconds. */
export function outcomeOf(row: LedgerRow): Outcome {
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
    routes: numberOrNone(row.routes),
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
