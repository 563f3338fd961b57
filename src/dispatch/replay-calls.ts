import type { AnswerEvent } from '../core/event.ts';
import type { DeliveredChoice } from './delivered.ts';
import { type Join, joinEach } from './join.ts';
import { watchJson, watchText } from './text-watch.ts';

/**
 * Joins an answer asked for anew after tool calls, or a refusal, had begun: a call cannot be continued. It must make the same
 * calls, by name and by the beginning of their arguments; what it says before them has been said. A refusal must begin with the
 * same words.
 */
export function replayCalls(delivered: DeliveredChoice): Join {
  const calls = delivered.calls.map(({ name, arguments: text }) => ({
    name,
    isBegun: false,
    arguments: watchJson(text),
  }));
  const refusal = watchText(delivered.refusal);

  /** Whether everything delivered has come again: from here on, all is new. */
  const isCaughtUp = (): boolean =>
    refusal.isComplete() && calls.every((call) => call.isBegun && call.arguments.isComplete());

  function step(event: AnswerEvent, out: AnswerEvent[]): boolean {
    switch (event.type) {
      case 'usage':
        break;
      case 'reasoning-delta':
      case 'text-delta':
        if (!isCaughtUp()) return true;
        break;
      case 'refusal-delta':
      case 'tool-delta': {
        const before = event.type === 'tool-delta' ? calls[event.tool]?.arguments : refusal;
        const text = before === undefined ? event.text : before.push(event.text);
        if (text === undefined) return false;
        if (text !== '') out.push(text === event.text ? event : { ...event, text });
        return true;
      }
      case 'tool-start': {
        const call = calls[event.tool];
        if (call !== undefined) {
          call.isBegun = true;
          return call.name === event.name;
        }
        if (!isCaughtUp()) return false;
        break;
      }
      case 'finish':
        if (!isCaughtUp()) return false;
        break;
    }
    out.push(event);
    return true;
  }

  return joinEach(step, () => ({ all: true, texts: [], deltas: 0 }));
}
