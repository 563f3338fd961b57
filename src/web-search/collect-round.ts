import type { AnswerEvent, TextEvent } from '../core/event.ts';
import { webSearchName } from '../core/web-search.ts';
import type { Citer } from './cite.ts';

/** A call of the search, as the model wrote it. */
export interface SearchCall {
  readonly arguments: string;
}

/** How an answer ended, as its engine tells it. */
export type Finish = Omit<AnswerEvent & { readonly type: 'finish' }, 'type' | 'choice'>;

/** What a model said in one round. */
export interface RoundSaid {
  /** With its marks. */
  readonly text: string;
  readonly reasoning: string;
  readonly searches: readonly SearchCall[];
  /** Whether it called tools of the caller's. */
  readonly callsCaller: boolean;
  /** Absent when it broke off. */
  readonly finish: Finish | undefined;
}

/** Tells what is the caller's from what is the service's in one round of an answer: a synchronous machine. */
export interface RoundCollector {
  /** What the caller is to get: all but searches, the finish and the usage. */
  readonly push: (events: readonly AnswerEvent[]) => readonly AnswerEvent[];
  /** Text that was held back. */
  readonly flush: () => readonly AnswerEvent[];
  readonly said: () => RoundSaid;
}

/**
 * For one choice: searching is offered only where a single one is asked for. `searches`: whether calls of `web_search` are
 * the service's; otherwise that is a tool of the caller's like any other.
 */
export function collectRound(options: {
  readonly citer: Citer | undefined;
  readonly searches: boolean;
}): RoundCollector {
  const { citer } = options;
  const said = { text: '', reasoning: '' };
  const searches = new Map<number, { arguments: string }>();
  /** Numbers of the caller's calls, by the engine's. */
  const callers = new Map<number, number>();
  let finish: Finish | undefined;

  const flush = (): readonly TextEvent[] => citer?.flush() ?? [];

  function take(event: AnswerEvent): readonly AnswerEvent[] {
    switch (event.type) {
      case 'text-delta':
        said.text += event.text;
        return citer === undefined ? [event] : citer.push(event);
      case 'reasoning-delta':
        said.reasoning += event.text;
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
        return flush();
      }
      case 'usage':
        return [];
    }
  }

  return {
    push: (events) => events.flatMap(take),
    flush,
    said: () => ({ ...said, searches: [...searches.values()], callsCaller: callers.size > 0, finish }),
  };
}
