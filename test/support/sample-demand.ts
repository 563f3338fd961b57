import type { BackendDemand } from '../../src/gateway/core/backend-demand.ts';

/** The demand for a Backend with one endpoint and nothing to do; changed as a test needs it. */
export function sampleDemand(changes: Partial<BackendDemand> = {}): BackendDemand {
  return {
    ...{ backend: 'vllm-a', endpoints: 1, work_tokens: 0, refused_tokens: 0, endpoint_tokens: 10_000 },
    ...{ filled_endpoints: 0, under_way: 0, refused_requests: 0, quiet_ms: null, first_token_ms: null },
    ...changes,
  };
}
