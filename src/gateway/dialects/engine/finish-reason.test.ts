import { describe, expect, it } from 'vitest';
import { meansFault, readFinishReason } from './finish-reason.ts';

const silent = { calledTools: false, refused: false };

/** Words of engines by what they mean. */
const words = {
  stop: [
    ...['stop', 'STOP', 'eos', 'eos_token', 'end_turn', 'stop_sequence', 'COMPLETE', 'FINISH_REASON_STOP', 'OTHER'],
    ...['FINISH_REASON_UNSPECIFIED', 'pause_turn', 'repetition', 'endoftext', 'NO_IMAGE', 'a word of tomorrow', 'end'],
  ],
  length: [
    ...[
      'length',
      'MAX_TOKENS',
      'max_tokens',
      'maxTokens',
      'max-tokens',
      'max_output_tokens',
      'max_length',
      'MAX_LENGTH',
    ],
    ...['model_length', 'model_context_window_exceeded', 'ERROR_LIMIT', 'token_limit', 'incomplete', 'max_time'],
    ...['FINISH_REASON_MAX_TOKENS', 'MaxTokens', 'context_length_exceeded', 'truncated'],
  ],
  content_filter: [
    ...[
      'content_filter',
      'SAFETY',
      'RECITATION',
      'PROHIBITED_CONTENT',
      'BLOCKLIST',
      'SPII',
      'IMAGE_SAFETY',
      'LANGUAGE',
    ],
    ...['IMAGE_PROHIBITED_CONTENT', 'sensitive', 'refusal', 'guardrail_intervened', 'content_filtered', 'ERROR_TOXIC'],
    ...['MODEL_ARMOR_BLOCKED', 'data_inspection_failed'],
  ],
  fault: [
    ...['error', 'ERROR', 'abort', 'ABORT', 'aborted', 'load', 'unload', 'network_error', 'USER_CANCEL', 'cancelled'],
    ...['insufficient_system_resource', 'MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'malformed_model_output'],
    ...['failed', 'timeout', 'timed_out', 'TIMEOUT', 'server_error', 'rate_limit', 'interrupted', 'overloaded'],
  ],
} as const;

describe('a finish reason', () => {
  it.each(Object.entries(words).flatMap(([meaning, some]) => some.map((word) => [word, meaning] as const)))(
    '%s means %s',
    (word, meaning) => {
      expect(readFinishReason(word, silent)).toBe(meaning);
      expect(readFinishReason(` ${word.toUpperCase()} `, silent)).toBe(meaning);
    },
  );

  it.each([
    'tool_calls',
    'tool_call',
    'TOOL_CALLS',
    'tool_use',
    'toolUse',
    'TOOL_CALL',
    'function_call',
    'stop',
    'OTHER',
  ])('%s after a call means tool_calls', (word) => {
    expect(readFinishReason(word, { calledTools: true, refused: false })).toBe('tool_calls');
    expect(readFinishReason(word, silent)).toBe('stop');
  });

  it('of a refusal is content_filter, unless it was cut or broken off', () => {
    const refused = { calledTools: false, refused: true };
    expect(['stop', 'length', 'error', 'unknown'].map((word) => readFinishReason(word, refused))).toEqual([
      ...['content_filter', 'length', 'fault', 'content_filter'],
    ]);
  });

  it('of any length is read at once', () => {
    expect(readFinishReason('x_'.repeat(1_000_000), silent)).toBe('stop');
  });
});

it.each([
  ...(['failed', 'error', 'FAILED', 'cancelled', 'server_error', 'timeout'] as const).map(
    (word) => [word, true] as const,
  ),
  ...(['completed', 'success', 'in_progress', 'ok', 'incomplete', 'message'] as const).map(
    (word) => [word, false] as const,
  ),
])('the status or event %s means a fault: %s', (word, expected) => {
  expect(meansFault(word)).toBe(expected);
});
