import type { AnswerEvent, Fault, TextEvent } from '../../core/event.ts';
import { isObject } from '../json.ts';
import { appendUsage } from './append-events.ts';
import { type ChoiceReader, createChoiceReader, type ReadOptions } from './read-choice.ts';
import { isError, readError } from './read-error.ts';
import { mergeUsage, readUsage, usageFrom, usageOf, type UsageReport } from './read-usage.ts';

/** Reads parsed answers or chunks of one attempt into events. */
export interface AnswerReader {
  readonly push: (answer: unknown, events: AnswerEvent[]) => Fault | undefined;
  /** Takes a piece of a choice's text as the engine filed it. */
  readonly text: (event: TextEvent, events: AnswerEvent[]) => void;
  /** Takes a usage block. */
  readonly usage: (block: unknown, events: AnswerEvent[]) => void;
  /** The engine says that its answer is whole. */
  readonly close: (events: AnswerEvent[]) => void;
  /** Whether every choice has ended. */
  readonly finished: () => boolean;
}

/** An engine's error inside a 200: never relayed, and its text never kept, for it may quote the prompt. */
export function errorInside(answer: unknown): Fault | undefined {
  return isError(answer) ? { kind: 'engine-error', detail: 'error in a 200', ...readError(answer) } : undefined;
}

export function createAnswerReader(options: ReadOptions): AnswerReader {
  const choices = new Map<number, ChoiceReader>();
  let report: UsageReport | undefined;

  function readerOf(index: number): ChoiceReader | undefined {
    if (index < 0 || index >= options.choices) return undefined;
    const known = choices.get(index);
    if (known !== undefined) return known;
    const reader = createChoiceReader(index, options);
    choices.set(index, reader);
    return reader;
  }

  function readChoice(value: unknown, events: AnswerEvent[]): Fault | undefined {
    if (!isObject(value)) return undefined;
    return readerOf(Number.isInteger(value['index']) ? Number(value['index']) : 0)?.push(value, events);
  }

  function takeUsage(newer: UsageReport | undefined, events: AnswerEvent[]): void {
    if (newer === undefined) return;
    report = mergeUsage(report, newer);
    const usage = usageFrom(report);
    if (usage !== undefined) appendUsage(events, { type: 'usage', usage });
  }

  return {
    finished: () => choices.size >= options.choices && [...choices.values()].every((reader) => reader.finished()),
    close: (events) => {
      for (const reader of choices.values()) reader.close(events);
    },
    text: (event, events) => readerOf(event.choice)?.text(event, events),
    usage: (block, events) => takeUsage(readUsage(block), events),
    push: (answer, events) => {
      const error = errorInside(answer);
      if (error !== undefined) return error;
      if (!isObject(answer)) return { kind: 'malformed', detail: 'answer is not an object' };
      if (Array.isArray(answer['choices'])) {
        for (const choice of answer['choices']) {
          const fault = readChoice(choice, events);
          if (fault !== undefined) return fault;
        }
      }
      takeUsage(usageOf(answer), events);
      return undefined;
    },
  };
}
