import type { AnswerEvent } from '../../core/event.ts';
import type { DeliveredChoice } from './delivered.ts';
import { watchJson, watchText } from './repeated-text.ts';

/**
 * Merges the answer of a new attempt with what has been delivered of a choice: a synchronous machine that hands on what is new.
 * The events name the choice as the engine does.
 */
export interface Merge {
  /** What is to be delivered; undefined when the new answer does not go on where the other broke off. */
  readonly push: (events: readonly AnswerEvent[]) => readonly AnswerEvent[] | undefined;
  readonly repeated: () => Repeated;
}

/** What an engine has written, and so counted, that had been delivered before. */
export interface Repeated {
  /** Whether that is everything that had been delivered of the choice. */
  readonly all: boolean;
  readonly texts: readonly string[];
  /** How many of the engine's own deltas are in the texts. */
  readonly deltas: number;
}

export const repeatedNothing: Repeated = { all: false, texts: [], deltas: 0 };

/** The merge for a choice of which nothing had been delivered. */
export const mergeNothing: Merge = { push: (events) => events, repeated: () => repeatedNothing };

/** Makes a merge of a step for one event. The step adds to `out` what is to be delivered; it returns false on a contradiction. */
export function mergeEach(step: (event: AnswerEvent, out: AnswerEvent[]) => boolean, repeated: () => Repeated): Merge {
  return {
    push: (events) => {
      const out: AnswerEvent[] = [];
      for (const event of events) if (!step(event, out)) return undefined;
      return out;
    },
    repeated,
  };
}

/**
 * Merges an answer that was asked for anew after tool calls, or a refusal, had begun: a call cannot be continued. The new answer
 * must make the same calls, by name and by the beginning of their arguments; what it says before them is dropped, and a refusal
 * must begin with the same words.
 */
export function repeatCalls(delivered: DeliveredChoice): Merge {
  const calls = delivered.calls.map(({ name, arguments: text }) => ({
    name,
    isBegun: false,
    arguments: watchJson(text),
  }));
  const refusal = watchText(delivered.refusal);

  /** Whether everything delivered has come again: whatever follows is new. */
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

  return mergeEach(step, () => ({ all: true, texts: [], deltas: 0 }));
}

/** Separates a trace that broke off from a trace that begins anew. */
const separator = '\n\n';

/**
 * Merges an answer that was asked for anew after nothing but reasoning had been delivered. As long as the new reasoning agrees
 * with the delivered one, it is not delivered again; once it differs, all of it follows the delivered one.
 */
export function restartReasoning(partial: string): Merge {
  const again = watchText(partial);
  let said = '';
  let deltas = 0;
  let phase: 'repeating' | 'continuing' | 'different' = 'repeating';
  return mergeEach(
    (event, out) => {
      if (phase === 'repeating' && event.type === 'reasoning-delta') {
        said += event.text;
        deltas += event.deltas;
        const fresh = again.push(event.text);
        if (fresh === undefined) phase = 'different';
        else if (again.isComplete()) phase = 'continuing';
        const text = fresh ?? separator + said;
        if (text !== '') out.push({ ...event, text });
        return true;
      }
      if (event.type !== 'usage' && phase === 'repeating') phase = 'continuing';
      out.push(event);
      return true;
    },
    () => (phase === 'different' ? repeatedNothing : { all: again.isComplete(), texts: [said], deltas }),
  );
}
