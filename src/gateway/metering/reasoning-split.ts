import type { RelayedEvent } from '../../core/event.ts';
import type { Usage } from '../../core/money.ts';
import type { TokenCounters } from './meter.ts';

/** Most text of an answer that is kept to be counted, UTF-16 units. A longer answer gets no split. */
const maxKept = 4 * 1024 * 1024;

/**
 * Most tokens of a choice that are in no text: the tags around its reasoning, the words that open and end a turn. The
 * tokenizer's count may be lower than the completion by this much and still explain it.
 */
const unseenPerChoice = 12;

/**
 * Finds how many tokens of a completion were reasoning, if the engine does not report it (docs/reference/api.md §2.4).
 * Keeps an answer's text, in memory only, once it has begun with reasoning. Text that is counted again has the same
 * number of tokens, unless the model cut words in an unusual way. So the parts of an answer without tools must add up
 * to its completion, less the few tokens that are in no text. The markup of a tool call is not known. So the parts of
 * an answer with tools must only not exceed its completion.
 */
export function createReasoningSplit(countText: TokenCounters['countText']) {
  const kept = { reasoning: '', rest: '' };
  const choices = new Set<number>();
  let calledTools = false;
  let reported = false;

  /** Keeps a piece that is not reasoning, if reasoning came before. */
  function keepRest(text: string): void {
    if (kept.reasoning !== '') kept.rest += text;
  }

  function take(event: RelayedEvent): void {
    switch (event.type) {
      case 'reasoning-delta':
        kept.reasoning += event.text;
        return;
      case 'text-delta':
      case 'refusal-delta':
      case 'tool-delta':
        keepRest(event.text);
        return;
      case 'tool-start':
        calledTools = true;
        keepRest(event.name);
        return;
      case 'search-call':
        calledTools = true;
        keepRest(event.input);
        return;
      case 'search-result':
      // Answers of other tasks have no reasoning.
      case 'vectors':
      case 'ranks':
        return;
      case 'finish':
        choices.add(event.choice);
        return;
      case 'usage':
        reported ||= event.usage.reasoningTokens !== undefined;
        return;
    }
  }

  const isTooLong = (): boolean => kept.reasoning.length + kept.rest.length > maxKept;

  return {
    take: (events: readonly RelayedEvent[]): void => {
      for (const event of events) if (!reported && !isTooLong()) take(event);
    },
    /** Returns the usage with its reasoning tokens if they could be found, else the unchanged usage. */
    complete: async (usage: Usage): Promise<Usage> => {
      const { reasoning, rest } = kept;
      if (usage.reasoningTokens !== undefined || reasoning === '' || isTooLong()) return usage;
      const counts = await Promise.all([reasoning, rest].map(async (text) => (text === '' ? 0 : countText(text))));
      const [reasoningTokens, restTokens] = counts;
      if (reasoningTokens === undefined || restTokens === undefined) return usage;
      const unseen = usage.completionTokens - reasoningTokens - restTokens;
      const explained = unseen >= 0 && (calledTools || unseen <= unseenPerChoice * choices.size);
      return explained ? { ...usage, reasoningTokens } : usage;
    },
  };
}
