import type { AnswerEvent } from '../../../core/event.ts';
import type { DeliveredChoice } from './delivered.ts';
import { watchJson, watchText } from './repeated-text.ts';

/**
 * Merges the answer of a new attempt with what was delivered of a choice. A synchronous machine that returns only new output. Its
 * events have the engine's number of the choice.
 */
export interface Merge {
  /** Returns the new output. Undefined: the answer does not continue where the other answer broke off. */
  readonly push: (events: readonly AnswerEvent[]) => readonly AnswerEvent[] | undefined;
  readonly repeated: () => Repeated;
}

/** Output that was delivered before, and that an engine wrote and counted again. */
export interface Repeated {
  /** Whether the engine repeated everything that was delivered of the choice. */
  readonly all: boolean;
  readonly texts: readonly string[];
  /** How many of the engine's own deltas are in the texts. */
  readonly deltas: number;
}

export const repeatedNothing: Repeated = { all: false, texts: [], deltas: 0 };

/** The merge for a choice of which nothing was delivered. */
export const mergeNothing: Merge = { push: (events) => events, repeated: () => repeatedNothing };

/** Makes a merge from a step for one event. The step adds new output to `out`. It returns false if the event contradicts what was delivered. */
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
 * Merges an answer that was made again after it broke off in tool calls or in a refusal, which no engine can continue. The new
 * answer must make the same calls: their names are equal, and their arguments begin the same. A refusal must begin with the same
 * words. Text before them is dropped.
 */
export function repeatCalls(delivered: DeliveredChoice): Merge {
  const calls = delivered.calls.map(({ name, arguments: text }) => ({
    name,
    isBegun: false,
    arguments: watchJson(text),
  }));
  const refusal = watchText(delivered.refusal);

  /** Whether the new answer has repeated everything that was delivered. All that follows is new. */
  const isCaughtUp = (): boolean =>
    refusal.isComplete() && calls.every((call) => call.isBegun && call.arguments.isComplete());

  function step(event: AnswerEvent, out: AnswerEvent[]): boolean {
    switch (event.type) {
      // Answers of other tasks are not continued.
      case 'vectors':
      case 'ranks':
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
 * Merges an answer that was made again after only reasoning was delivered. The new reasoning is not delivered while it repeats the
 * delivered reasoning. Once it differs, all of the new reasoning is delivered after the old reasoning.
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
        // The deltas of a trace that differs were held with it.
        if (text !== '') out.push({ ...event, text, deltas: phase === 'different' ? deltas : event.deltas });
        return true;
      }
      if (event.type !== 'usage' && phase === 'repeating') phase = 'continuing';
      out.push(event);
      return true;
    },
    () => (phase === 'different' ? repeatedNothing : { all: again.isComplete(), texts: [said], deltas }),
  );
}
