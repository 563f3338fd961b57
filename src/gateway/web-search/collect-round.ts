import type { AnswerEvent, TextEvent } from '../../core/event.ts';
import { webSearchName } from '../../core/web-search.ts';
import type { Citer } from './cite.ts';

/** A call of the web search, as the model wrote it. */
interface SearchCall {
  readonly arguments: string;
}

/** How the engine ended an answer. */
export type Finish = Omit<AnswerEvent & { readonly type: 'finish' }, 'type' | 'choice'>;

export interface RoundOutput {
  /** The text with its citation marks. */
  readonly text: string;
  readonly reasoning: string;
  readonly searches: readonly SearchCall[];
  /** Whether the model has called tools of the caller. */
  readonly callsCaller: boolean;
  /** Undefined when the round broke off. */
  readonly finish: Finish | undefined;
}

/**
 * Separates the caller's events from the service's in one round of an answer: a synchronous machine.
 * Collects a round of a single choice, because requests for several choices have no web search. `searches`: whether calls of
 * `web_search` are the service's. Otherwise they call a tool of the caller.
 */
export function collectRound(options: { readonly citer: Citer | undefined; readonly searches: boolean }) {
  const { citer } = options;
  const written = { text: '', reasoning: '' };
  const searches = new Map<number, { arguments: string }>();
  /** Numbers of the caller's tool calls in the caller's answer, by their numbers in the engine's answer. */
  const callers = new Map<number, number>();
  let finish: Finish | undefined;

  const flush = (): readonly TextEvent[] => citer?.flush() ?? [];
  const breakOff = (): readonly TextEvent[] => citer?.breakOff() ?? [];

  function take(event: AnswerEvent): readonly AnswerEvent[] {
    switch (event.type) {
      case 'text-delta':
        written.text += event.text;
        return citer === undefined ? [event] : citer.push(event);
      case 'reasoning-delta':
        written.reasoning += event.text;
        return [...flush(), event];
      case 'refusal-delta':
        return [...flush(), event];
      case 'tool-start': {
        if (options.searches && event.name === webSearchName) {
          searches.set(event.tool, { arguments: '' });
          return flush();
        }
        callers.set(event.tool, callers.size);
        return [...flush(), { ...event, tool: callers.size - 1 }];
      }
      case 'tool-delta': {
        const search = searches.get(event.tool);
        if (search === undefined) return [{ ...event, tool: callers.get(event.tool) ?? event.tool }];
        search.arguments += event.text;
        return [];
      }
      case 'finish': {
        const { type: _, choice: __, ...how } = event;
        finish = how;
        // In an answer that ends by itself, what looks like the beginning of a mark is text.
        return event.reason === 'length' ? breakOff() : flush();
      }
      // Answers of other tasks.
      case 'vectors':
      case 'ranks':
      case 'usage':
        return [];
    }
  }

  return {
    /** Returns the caller's events: all but searches, the finish and the usage. */
    push: (events: readonly AnswerEvent[]): readonly AnswerEvent[] => events.flatMap(take),
    /** Returns text that was held back. */
    flush,
    /** Returns the held-back text of a round that has broken off, without a mark that has only begun. */
    breakOff,
    output: (): RoundOutput => ({
      ...written,
      searches: [...searches.values()],
      callsCaller: callers.size > 0,
      finish,
    }),
  };
}
