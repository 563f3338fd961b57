import type { Outcome } from '../core/account.ts';
import type { LedgerTable } from './schema.ts';

/**
 * The row of an outcome. Throws a RangeError when a count or a time is not a whole number or not a number at all:
 * such a row is refused rather than written wrong.
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
    ...(row.route_id !== null && { routeId: row.route_id }),
    surface: row.surface,
    stream: row.stream === 1n,
    kind: row.kind,
    usage: {
      promptTokens: Number(row.prompt_tokens),
      completionTokens: Number(row.completion_tokens),
      ...(row.cached_tokens !== null && { cachedTokens: Number(row.cached_tokens) }),
      ...(row.reasoning_tokens !== null && { reasoningTokens: Number(row.reasoning_tokens) }),
      ...(row.web_searches !== null && { webSearches: Number(row.web_searches) }),
    },
    countedBy: row.counted_by,
    cost: row.cost,
    attempts: Number(row.attempts),
    startedAt: Number(row.started_at),
    ...(row.first_token_ms !== null && { firstTokenMs: Number(row.first_token_ms) }),
    durationMs: Number(row.duration_ms),
  };
}

function optional(count: number | undefined): bigint | null {
  return count === undefined ? null : BigInt(count);
}

/** Monotonic clocks give fractions of a millisecond; the ledger keeps whole ones. */
function whole(milliseconds: number): bigint {
  return BigInt(Math.round(milliseconds));
}
