import { type CountedRuns, countRuns, type CountText, createRuns } from '../../core/count-tokens.ts';
import { type AnswerEvent, deltasOf } from '../../../core/event.ts';
import { type CountedBy, leastExact, type Usage } from '../../../core/money.ts';
import type { Repeated } from './merge.ts';

/** Counts one attempt's part of the output tokens. */
export interface TokenShare {
  /** Counts the events that the attempt delivered. Returns them with the usage of the whole answer. */
  readonly take: (events: readonly AnswerEvent[]) => readonly AnswerEvent[];
  /** Call it when the attempt is over. Resolves when its output has been counted. */
  readonly close: (how: 'whole' | 'broken') => Promise<void>;
}

export interface ShareOptions {
  /** Output that the engine counts, although it was delivered and counted before. */
  readonly repeated: () => Repeated;
  /** Tokens of the choice that were delivered before the attempt. */
  readonly deliveredTokens: number;
  /** Tokens of the partial turn, which the engine counts as prompt. */
  readonly prefixTokens: number;
}

/** Adds the tokens of several attempts up to one usage. The prompt counts once, and each piece of output once. */
export interface TokenTotals {
  readonly share: (options: ShareOptions) => TokenShare;
  /** Output tokens of the attempts that are closed. */
  readonly output: () => number;
  /** The usage so far. Undefined while no engine has reported the size of the prompt. */
  readonly usage: () => (AnswerEvent & { readonly type: 'usage' }) | undefined;
}

interface Tally {
  readonly options: ShareOptions;
  reported: Usage | undefined;
  reportedBy: CountedBy;
  /** Text that was delivered since the engine's last report. */
  readonly runs: CountedRuns;
  deltas: number;
  /** Tokens of the repeated output. Undefined until they have been counted. */
  repeatedTokens: number | undefined;
  /** Whether reasoning was delivered. */
  reasoned: boolean;
}

/** `countText`: the model's tokenizer. Undefined: the model has no tokenizer. */
export function createTokenTotals(countText: CountText | undefined): TokenTotals {
  const open = new Set<Tally>();
  let prompt: Pick<Usage, 'promptTokens' | 'cachedTokens'> | undefined;
  let output = 0;
  /** Reasoning tokens. Undefined once a part of them is unknown. */
  let reasoning: number | undefined = 0;
  let countedBy: CountedBy = 'engine';
  let isOnly = true;

  function takePrompt({ promptTokens, cachedTokens }: Usage, { prefixTokens }: ShareOptions): void {
    if (prompt !== undefined && !isOnly) return;
    const own = Math.max(0, promptTokens - prefixTokens);
    prompt = {
      promptTokens: own,
      ...(cachedTokens === undefined ? {} : { cachedTokens: Math.min(cachedTokens, own) }),
    };
  }

  /** Tokens that an attempt adds: its engine's count without repetitions. Without a count, each delta is a token. */
  function addedBy(tally: Tally): number {
    const { reported, deltas } = tally;
    return reported === undefined ? deltas : Math.max(0, reported.completionTokens - repeatedTokensOf(tally));
  }

  function repeatedTokensOf({ repeatedTokens, options }: Tally): number {
    const { all, deltas } = options.repeated();
    return repeatedTokens ?? (all ? options.deliveredTokens : deltas);
  }

  /** Counts repeated output with the model's tokenizer, which is more exact than the number of deltas. */
  async function countRepeated(tally: Tally): Promise<void> {
    const { all, texts } = tally.options.repeated();
    if (tally.reported === undefined || all || texts.length === 0 || countText === undefined) return;
    tally.repeatedTokens = await countRuns(texts, countText);
  }

  function reasoningOf({ reported, reasoned, options }: Tally): number | undefined {
    const fromEngine = reported?.reasoningTokens;
    if (fromEngine === undefined) return reasoned ? undefined : 0;
    // The tokens of repeated reasoning are in `reasoning` already.
    return options.repeated().deltas > 0 || options.repeated().all
      ? Math.max(0, fromEngine - (reasoning ?? 0))
      : fromEngine;
  }

  function usage(): (AnswerEvent & { readonly type: 'usage' }) | undefined {
    if (prompt === undefined) return undefined;
    let completionTokens = output;
    let reasoningTokens = reasoning;
    let source = countedBy;
    for (const tally of open) {
      completionTokens += addedBy(tally);
      if (tally.reported === undefined && tally.deltas > 0) source = 'estimate';
      else source = leastExact(source, tally.reportedBy);
      const more = reasoningOf(tally);
      reasoningTokens = reasoningTokens === undefined || more === undefined ? undefined : reasoningTokens + more;
    }
    const split = reasoningTokens === undefined || reasoningTokens === 0 ? {} : { reasoningTokens };
    return {
      type: 'usage',
      usage: { ...prompt, completionTokens, ...split },
      ...(source === 'engine' ? {} : { countedBy: source }),
    };
  }

  function note(tally: Tally, event: AnswerEvent): void {
    if (event.type === 'usage') {
      tally.reported = event.usage;
      tally.reportedBy = event.countedBy ?? 'engine';
      tally.runs.clear();
      tally.deltas = 0;
      takePrompt(event.usage, tally.options);
      return;
    }
    if (event.type === 'reasoning-delta') tally.reasoned = true;
    tally.deltas += deltasOf(event);
    if (countText !== undefined) tally.runs.take(event);
  }

  const countNow = (texts: readonly string[]): Promise<number | undefined> =>
    countText === undefined ? Promise.resolve(undefined) : countRuns(texts, countText);

  async function close(tally: Tally, how: 'whole' | 'broken'): Promise<void> {
    // An engine's last report covers a whole answer. In a broken answer, the output after the report has to be counted.
    const isTold = how === 'whole' && tally.reported !== undefined;
    await countRepeated(tally);
    const isUncounted = !isTold && tally.deltas > 0;
    const counted = isUncounted ? await countNow(tally.runs.texts()) : 0;
    isOnly = false;
    open.delete(tally);
    countedBy = leastExact(countedBy, tally.reportedBy);
    const after = counted ?? tally.deltas;
    if (isUncounted) countedBy = leastExact(countedBy, counted === undefined ? 'estimate' : 'tokenizer');
    const more = reasoningOf(tally);
    reasoning = reasoning === undefined || more === undefined ? undefined : reasoning + more;
    output += (tally.reported === undefined ? 0 : addedBy(tally)) + after;
  }

  return {
    output: () => output,
    usage,
    share: (options) => {
      const tally: Tally = {
        options,
        reported: undefined,
        reportedBy: 'engine',
        runs: createRuns(),
        deltas: 0,
        repeatedTokens: undefined,
        reasoned: false,
      };
      open.add(tally);
      return {
        take: (events) => {
          for (const event of events) note(tally, event);
          // The usual case: there is one attempt, so its engine's count needs no adding up.
          if (isOnly) return events;
          return events.map((event) => (event.type === 'usage' ? (usage() ?? event) : event));
        },
        close: (how) => close(tally, how),
      };
    },
  };
}
