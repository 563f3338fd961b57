import type { AnswerEvent, Fault } from '../../core/event.ts';
import { isObject, type JsonObject } from '../json.ts';
import { type ChoiceReader, createChoiceReader, type ReadOptions } from './read-choice.ts';
import { usageOf } from './read-usage.ts';

/** Reads parsed answers or chunks of one attempt into events. */
export interface AnswerReader {
  readonly push: (answer: unknown, events: AnswerEvent[]) => Fault | undefined;
  /** The engine says that its answer is whole. */
  readonly close: (events: AnswerEvent[]) => void;
  /** Whether every choice has ended. */
  readonly finished: () => boolean;
}

/** HTTP status that an error in the body of a 200 speaks of, where it does. */
function statusOf(error: unknown): { readonly status?: number } {
  if (!isObject(error)) return {};
  const code = error['code'] ?? error['status'];
  return typeof code === 'number' && code >= 400 && code < 600 ? { status: code } : {};
}

/** An engine's error inside a 200: never relayed, and its text never logged, for it may quote the prompt. */
function errorOf(answer: JsonObject): Fault | undefined {
  const error = answer['error'];
  if (error === undefined || error === null || error === false) {
    return answer['object'] === 'error' ? { kind: 'engine-error', detail: 'error object in a 200' } : undefined;
  }
  return { kind: 'engine-error', detail: 'error in a 200', ...statusOf(error) };
}

export function createAnswerReader(options: ReadOptions): AnswerReader {
  const choices = new Map<number, ChoiceReader>();

  function readChoice(value: unknown, events: AnswerEvent[]): Fault | undefined {
    if (!isObject(value)) return undefined;
    const index = Number.isInteger(value['index']) ? Number(value['index']) : 0;
    if (index < 0 || index >= options.choices) return undefined;
    let reader = choices.get(index);
    if (reader === undefined) {
      reader = createChoiceReader(index, options);
      choices.set(index, reader);
    }
    return reader.push(value, events);
  }

  return {
    finished: () => choices.size >= options.choices && [...choices.values()].every((reader) => reader.finished()),
    close: (events) => {
      for (const reader of choices.values()) reader.close(events);
    },
    push: (answer, events) => {
      if (!isObject(answer)) return { kind: 'malformed', detail: 'answer is not an object' };
      const error = errorOf(answer);
      if (error !== undefined) return error;
      if (Array.isArray(answer['choices'])) {
        for (const choice of answer['choices']) {
          const fault = readChoice(choice, events);
          if (fault !== undefined) return fault;
        }
      }
      const usage = usageOf(answer);
      if (usage !== undefined) events.push({ type: 'usage', usage });
      return undefined;
    },
  };
}
