import { type CountedRuns, countRuns, createOutputEstimate, createRuns, estimateTokens } from '../core/count-tokens.ts';
import type { AnswerEvent } from '../core/event.ts';
import { type CountedBy, leastExact, type Usage } from '../core/money.ts';

type UsageEvent = AnswerEvent & { readonly type: 'usage' };

/** Counts with the model's own tokenizer; undefined when it cannot. */
type CountText = (text: string) => Promise<number | undefined>;

/**
 * Adds the usage of several rounds up. Each round's engine counts the whole prompt again, what was found so far included,
 * and is paid for it, so the sum is what was used.
 */
export interface RoundTotals {
  /** Takes what a round says. Gives the totals so far where its engine has counted. */
  readonly take: (events: readonly AnswerEvent[]) => UsageEvent | undefined;
  /**
   * The round is over. Gives the totals with all that was said in it; where its engine did not count, the tokenizer does,
   * or it is an estimate.
   */
  readonly close: () => Promise<UsageEvent>;
  /** The next round begins, its prompt longer by this text. Gives the totals with what the prompt will cost. */
  readonly open: (added: string) => Promise<UsageEvent>;
  /** The totals without the round under way. */
  readonly past: () => UsageEvent;
  /** Tokens of the conversation, up to the end of the latest round. */
  readonly conversation: () => number;
  /** Output tokens of the rounds that are over. */
  readonly output: () => number;
}

function add(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
}

function sum(one: Usage, other: Usage): Usage {
  const cachedTokens = add(one.cachedTokens, other.cachedTokens);
  const reasoningTokens = add(one.reasoningTokens, other.reasoningTokens);
  return {
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    ...(cachedTokens === undefined ? {} : { cachedTokens }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
  };
}

export interface RoundTotalsOptions {
  readonly countText: CountText | undefined;
  /** Most tokens a round's prompt can have. */
  readonly contextLength: number;
  /** Counts the prompt of the first round, for when its engine does not. */
  readonly countPrompt: () => Promise<{ readonly tokens: number; readonly countedBy: CountedBy }>;
}

export function createRoundTotals({ countText, contextLength, countPrompt }: RoundTotalsOptions): RoundTotals {
  let past: { readonly usage: Usage; readonly countedBy: CountedBy } = {
    usage: { promptTokens: 0, completionTokens: 0 },
    countedBy: 'engine',
  };
  let reported: UsageEvent | undefined;
  /** What came after the report. */
  const runs: CountedRuns = createRuns();
  const since = createOutputEstimate();
  /** Of the round under way: counted before it began. */
  let prompt: { readonly tokens: number; readonly countedBy: CountedBy } | undefined;
  let conversation = 0;

  async function count(text: string): Promise<{ readonly tokens: number; readonly countedBy: CountedBy }> {
    const tokens = await countText?.(text);
    return tokens === undefined
      ? { tokens: Math.ceil(estimateTokens(text)), countedBy: 'estimate' }
      : { tokens, countedBy: 'tokenizer' };
  }

  const told = (usage: Usage, countedBy: CountedBy): UsageEvent => ({
    ...{ type: 'usage', usage },
    ...(countedBy === 'engine' ? {} : { countedBy }),
  });

  const withPast = (usage: Usage, countedBy: CountedBy): UsageEvent =>
    told(sum(past.usage, usage), leastExact(past.countedBy, countedBy));

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

  /** What the round used, its engine's own last count preferred: of a whole answer it covers everything. */
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
    take: (events) => {
      const before = reported;
      for (const event of events) note(event);
      return reported === undefined || reported === before
        ? undefined
        : withPast(reported.usage, reported.countedBy ?? 'engine');
    },
    close: async () => {
      const { usage, countedBy } = await usageOfRound();
      past = { usage: sum(past.usage, usage), countedBy: leastExact(past.countedBy, countedBy) };
      conversation = usage.promptTokens + usage.completionTokens;
      reported = undefined;
      prompt = undefined;
      runs.clear();
      since.clear();
      return told(past.usage, past.countedBy);
    },
    open: async (added) => {
      const { tokens, countedBy } = await count(added);
      prompt = { tokens: Math.min(conversation + tokens, contextLength), countedBy };
      return withPast({ promptTokens: prompt.tokens, completionTokens: 0 }, countedBy);
    },
    past: () => told(past.usage, past.countedBy),
    conversation: () => conversation,
    output: () => past.usage.completionTokens,
  };
}
