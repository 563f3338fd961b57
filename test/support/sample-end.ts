import type { RequestEnd } from '../../src/telemetry/core/request-end.ts';

/** The end of a request that was refused, changed as a test needs it. */
export function sampleEnd(changes: Partial<RequestEnd> = {}): RequestEnd {
  return {
    ...{ requestId: 'req-1', correlationId: 'correlation-1', traceId: undefined, surface: 'chat' },
    ...{ workspaceId: undefined, keyId: undefined, modelId: undefined, outcome: undefined },
    ...{ kind: 'refused', code: undefined, failure: undefined, durationMs: 345, added: undefined },
    wouldRefuse: [],
    failovers: { beforeOutput: 0, midStream: 0 },
    ...changes,
  };
}
