import { shownRequest } from '../../src/books/core/request-fields.ts';
import type { NumberedStory, Story } from '../../src/telemetry/core/story.ts';
import { sampleOutcome } from './sample-outcome.ts';

/** A request that was answered at once, by one attempt. */
export function sampleStory(changes: Partial<Story> = {}): Story {
  return {
    id: 'chatcmpl-1',
    correlation_id: 'corr-1',
    source: 'service',
    workspace: 'ws_1',
    key: 'key_1',
    model: 'test/model',
    surface: 'chat',
    stream: true,
    started_at: '2026-07-01T12:00:00.000Z',
    first_output_ms: 130,
    duration_ms: 900,
    outcome: 'completed',
    failure: null,
    refused_for: null,
    route: 'test/model@a',
    attempt_count: 1,
    hedge_count: 0,
    failover_count: 0,
    resume_count: 0,
    waits: { admission: 1, body: 2, plan: 1, record: 3 },
    plan: {
      first: 'only',
      routes: [
        {
          route: 'test/model@a',
          state: 'available',
          chance: 1,
          success: 1,
          validity: 1,
          in_flight: 0,
          capacity: null,
          expected_first_output_ms: null,
        },
      ],
      left_out: [],
    },
    attempts: [
      {
        route: 'test/model@a',
        backend: 'a',
        endpoint: '10.0.0.1:8000',
        reason: 'first',
        step: 'first',
        pick: { why: 'holder', held_tokens: 6, expected_first_token_ms: 120 },
        began_ms: 5,
        first_output_ms: 130,
        ended_ms: 890,
        end: 'complete',
        fault: null,
        output_tokens: 12,
      },
    ],
    searches: [],
    bill: {
      prompt_tokens: 8,
      completion_tokens: 12,
      cached_tokens: null,
      reasoning_tokens: null,
      web_searches: null,
      counted_by: 'engine',
      cost: '0.0000084',
    },
    refused_in_minute: null,
    ...changes,
  };
}

/** The same as the entry of a page. */
export function numberedStory(seq: number, changes: Partial<Story> = {}): NumberedStory {
  const story = sampleStory({ id: `chatcmpl-${seq}`, ...changes });
  const outcome = sampleOutcome({ requestId: story.id });
  return { ...story, settled: shownRequest({ outcome, workspace: outcome.workspaceId }), seq };
}
