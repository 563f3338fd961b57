import type { AnswerEvent, TextEvent } from '../../core/event.ts';

function joined(earlier: AnswerEvent | undefined, later: TextEvent): TextEvent | undefined {
  if (earlier?.type !== later.type || !('deltas' in earlier) || earlier.choice !== later.choice) return undefined;
  if (earlier.logprobs !== undefined || later.logprobs !== undefined) return undefined;
  const { type, choice } = later;
  return { type, choice, text: earlier.text + later.text, deltas: earlier.deltas + later.deltas };
}

/** Adds a piece of text. Pieces of the same text that arrived together are one event. */
export function appendText(events: AnswerEvent[], event: TextEvent): void {
  const whole = joined(events.at(-1), event);
  if (whole === undefined) events.push(event);
  else events[events.length - 1] = whole;
}

/**
 * Adds running totals. Totals that newer ones replace are dropped, and the text on either side of them is joined, so that an
 * engine that counts in every chunk costs its readers nothing.
 */
export function appendUsage(events: AnswerEvent[], event: AnswerEvent & { readonly type: 'usage' }): void {
  const last = events.at(-1);
  if (last?.type === 'usage') {
    events[events.length - 1] = event;
    return;
  }
  const older = events.at(-2);
  const text = last !== undefined && 'deltas' in last && older?.type === 'usage' ? last : undefined;
  const whole = text === undefined ? undefined : joined(events.at(-3), text);
  if (whole === undefined) events.push(event);
  else events.splice(-3, 3, whole, event);
}
