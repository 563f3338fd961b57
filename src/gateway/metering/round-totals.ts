import {
  type CountedRuns,
  countRuns,
  type CountText,
  createOutputEstimate,
  createRuns,
  estimateTokens,
} from '../core/count-tokens.ts';
import type { AnswerEvent, UsageEvent } from '../../core/event.ts';
import { type CountedBy, leastExact, type Usage } from '../../core/money.ts';

/**
 * Adds up the usage of several rounds. The engine reads the whole prompt again in each round, with all results so far, and is paid
 * for it, so the usage of the answer is the sum.
 */
export type RoundTotals = ReturnType<typeof createRoundTotals>;

function add(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
}

function sum(one: Usage, other: Usage): Usage {
  return {
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    cachedTokens: add(one.cachedTokens, other.cachedTokens),
    reasoningTokens: add(one.reasoningTokens, other.reasoningTokens),
  };
}

interface RoundTotalsOptions {
  readonly countText: CountText | undefined;
  /** Most tokens of a round's prompt. */
  readonly contextLength: number;
  /** Counts the prompt of the first round when its engine does not. */
  readonly countPrompt: () => Promise<{ readonly tokens: number; readonly countedBy: CountedBy }>;
}

export function createRoundTotals({ countText, contextLength, countPrompt }: RoundTotalsOptions) {
  let past: { readonly usage: Usage; readonly countedBy: CountedBy } = {
    usage: { promptTokens: 0, completionTokens: 0 },
    countedBy: 'engine',
  };
  let reported: UsageEvent | undefined;
  /** The output since the engine's last report. */
  const runs: CountedRuns = createRuns();
  const since = createOutputEstimate();
  /** The prompt of the current round, counted before it began. */
  let prompt: { readonly tokens: number; readonly countedBy: CountedBy } | undefined;
  let conversation = 0;

  async function count(text: string): Promise<{ readonly tokens: number; readonly countedBy: CountedBy }> {
    const tokens = await countText?.(text);
    return tokens === undefined
      ? { tokens: Math.ceil(estimateTokens(text)), countedBy: 'estimate' }
      : { tokens, countedBy: 'tokenizer' };
  }

  const usageEvent = (usage: Usage, countedBy: CountedBy): UsageEvent => ({
    type: 'usage',
    usage,
    countedBy: countedBy === 'engine' ? undefined : countedBy,
  });

  const withPast = (usage: Usage, countedBy: CountedBy): UsageEvent =>
    usageEvent(sum(past.usage, usage), leastExact(past.countedBy, countedBy));

  function note(event: AnswerEvent): void {
    if (event.type === 'usage') {
      reported = event;
      runs.clear();
      since.clear();
      return;
    }
    since.take(event);
    if (countText !== undefined) runs.take(event);
  }

  /** The usage of the round. The engine's last report is preferred, because the report on a complete answer covers everything. */
  async function usageOfRound(): Promise<{ readonly usage: Usage; readonly countedBy: CountedBy }> {
    if (reported !== undefined) return { usage: reported.usage, countedBy: reported.countedBy ?? 'engine' };
    const asked = prompt ?? (await countPrompt());
    const tokens = countText === undefined ? undefined : await countRuns(runs.texts(), countText);
    return {
      usage: { promptTokens: asked.tokens, completionTokens: tokens ?? since.tokens() },
      countedBy: leastExact(asked.countedBy, tokens === undefined ? 'estimate' : 'tokenizer'),
    };
  }

  return {
    /** Adds events of the round. Returns the totals so far when its engine has reported counts. */
    take: (events: readonly AnswerEvent[]): UsageEvent | undefined => {
      const before = reported;
      for (const event of events) note(event);
      return reported === undefined || reported === before
        ? undefined
        : withPast(reported.usage, reported.countedBy ?? 'engine');
    },
    /**
     * Ends the round and returns the totals with it. If the engine reported no counts, the tokenizer counts, or the
     * counts are estimates.
     */
    close: async (): Promise<UsageEvent> => {
      const { usage, countedBy } = await usageOfRound();
      past = { usage: sum(past.usage, usage), countedBy: leastExact(past.countedBy, countedBy) };
      conversation = usage.promptTokens + usage.completionTokens;
      reported = undefined;
      prompt = undefined;
      runs.clear();
      since.clear();
      return usageEvent(past.usage, past.countedBy);
    },
    /** Begins the next round, whose prompt is longer by this text. Returns the totals with that prompt. */
    open: async (added: string): Promise<UsageEvent> => {
      const { tokens, countedBy } = await count(added);
      prompt = { tokens: Math.min(conversation + tokens, contextLength), countedBy };
      return withPast({ promptTokens: prompt.tokens, completionTokens: 0 }, countedBy);
    },
    /** Returns the totals of the ended rounds. */
    past: (): UsageEvent => usageEvent(past.usage, past.countedBy),
    /** Returns the tokens of the conversation up to the end of the latest round. */
    conversation: (): number => conversation,
    /** Returns the output tokens of the ended rounds. */
    output: (): number => past.usage.completionTokens,
  };
}
