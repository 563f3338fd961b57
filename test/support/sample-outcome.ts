import type { Outcome } from '../../src/core/account.ts';

/** An ordinary streamed answer, changed as a test needs it. */
export function sampleOutcome(changes: Partial<Outcome> = {}): Outcome {
  return {
    requestId: 'req-1',
    correlationId: 'correlation-1',
    workspaceId: 'ws_unknown',
    keyId: 'key_unknown',
    modelId: 'qwen/qwen3-8b',
    routeId: 'qwen/qwen3-8b@vllm-a',
    surface: 'chat',
    stream: true,
    kind: 'completed',
    usage: { promptTokens: 120, completionTokens: 30, cachedTokens: 10, reasoningTokens: 5 },
    countedBy: 'engine',
    cost: 1_500_000n,
    attempts: 1,
    startedAt: Date.UTC(2026, 6, 1, 12),
    firstTokenMs: 12,
    durationMs: 345,
    ...changes,
  };
}
