import type { AnswerEvent, FinishReason } from '../../core/event.ts';
import type { Sampling } from '../../core/request.ts';

const reasons: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  // docs/reference/api.md §7.4: an ordinary answer.
  content_filter: 'refusal',
};

/** How an answer ended, in this format's words. */
export interface StopReason {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
}

type Finish = AnswerEvent & { readonly type: 'finish' };

/**
 * Why an answer ended. That it stopped at one of the caller's sequences is only known where the engine says which one: others
 * end a turn alike.
 */
export function stopReasonOf(
  { reason, stopSequence }: Pick<Finish, 'reason' | 'stopSequence'>,
  stop: Sampling['stop'],
): StopReason {
  const asked = typeof stop === 'string' ? [stop] : (stop ?? []);
  // A sequence that belongs to the model is nothing that its caller knows.
  return stopSequence !== undefined && reason === 'stop' && asked.includes(stopSequence)
    ? { stop_reason: 'stop_sequence', stop_sequence: stopSequence }
    : { stop_reason: reasons[reason], stop_sequence: null };
}
