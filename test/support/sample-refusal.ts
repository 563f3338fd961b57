import type { RefusedRequest } from '../../src/core/refused-request.ts';
import { sampleNow } from './sample-database.ts';

/** A request that was refused because of its rate, changed as a test needs it. */
export function sampleRefusal(changes: Partial<RefusedRequest> = {}): RefusedRequest {
  return {
    ...{ requestId: 'r1', correlationId: 'c1', workspaceId: 'ws_1', keyId: 'key_1', modelId: 'test/model' },
    ...{ surface: 'chat', stream: true, code: 'rate_limited', about: [], limit: 'rate' },
    ...{ startedAt: sampleNow, durationMs: 3 },
    ...changes,
  };
}
