import type { Call } from './caller.ts';
import type { RequestEvent } from './events.ts';
import type { EarlierAnswer } from './expected-answer.ts';
import { readAnswer } from './received-answer.ts';

/**
 * The latest whole answer with web search of the topic and the surface, for a caller that goes on from it. None that goes on
 * itself, and none that waits for the result of a tool.
 */
export function earlierAnswer(calls: readonly Call[], { surface, topic }: RequestEvent): EarlierAnswer | undefined {
  for (const call of calls.toReversed()) {
    const { event, earlier } = call;
    if (event.surface !== surface || event.topic !== topic || event.search === undefined) continue;
    if (event.ask === 'tools' || earlier !== undefined || call.end() !== 'ended' || call.status() !== 200) continue;
    const answer = readAnswer(event, call.body(), true);
    if (answer.end === 'whole' && answer.content.length > 0) return { event, answer };
  }
  return undefined;
}
