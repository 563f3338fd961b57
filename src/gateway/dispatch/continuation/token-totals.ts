import { type CountedRuns, countRuns, type CountText, createRuns } from '../../core/count-tokens.ts';
import { type AnswerEvent, deltasOf, type UsageEvent } from '../../../core/event.ts';
import { type CountedBy, leastExact, type Usage } from '../../../core/money.ts';
import type { Repeated } from './merge.ts';

export type TokenShare = ReturnType<TokenTotals['share']>;

export interface ShareOptions {
  /** Output that the engine counts, although it was delivered and counted before. */
  readonly repeated: () => Repeated;
  /** Tokens of the choice that were delivered before the attempt. */
  readonly deliveredTokens: number;
  /** Tokens of the partial turn, which the engine counts as prompt. */
  readonly prefixTokens: number;
}

/** Adds the tokens of several attempts up to one usage. The prompt counts once, and each piece of output once. */
export type TokenTotals = ReturnType<typeof createTokenTotals>;

interface Tally {
  readonly options: ShareOptions;
  reported: Usage | undefined;
  reportedBy: CountedBy;
  /** Text that was delivered since the engine's last report. */
  readonly runs: CountedRuns;
  deltas: number;
  /** Tokens of the repeated output. Undefined until they have been counted. */
  repeatedTokens: number | undefined;
  reasoned: boolean;
}

interface TotalsState {
  /** The model's tokenizer. Undefined: the model has no tokenizer. */
  readonly countText: CountText | undefined;
  /** The attempts that are not closed. */
  readonly open: Set<Tally>;
  prompt: Pick<Usage, 'promptTokens' | 'cachedTokens'> | undefined;
  /** Of the attempts that are closed, as are the fields below. */
  output: number;
  /** Reasoning tokens. Undefined once a part of them is unknown. */
  reasoning: number | undefined;
  countedBy: CountedBy;
  /** Whether no attempt was closed. */
  isOnly: boolean;
}

/** `countText`: the model's tokenizer. Undefined: the model has no tokenizer. */
export function createTokenTotals(countText: CountText | undefined) {
  const state: TotalsState = {
    countText,
    open: new Set(),
    prompt: undefined,
    output: 0,
    reasoning: 0,
    countedBy: 'engine',
    isOnly: true,
  };
  return {
    /** Output tokens of the attempts that are closed. */
    output: (): number => state.output,
    /** The usage so far. Undefined while no engine has reported the size of the prompt. */
    usage: (): UsageEvent | undefined => usageOf(state),
    /** Counts one attempt's part of the output tokens. */
    share: (options: ShareOptions) => {
      const tally: Tally = {
        options,
        reported: undefined,
        reportedBy: 'engine',
        runs: createRuns(),
        deltas: 0,
        repeatedTokens: undefined,
        reasoned: false,
      };
      state.open.add(tally);
      return {
        /** Counts the events that the attempt delivered. Returns them with the usage of the whole answer. */
        take: (events: readonly AnswerEvent[]): readonly AnswerEvent[] => {
          for (const event of events) note(state, tally, event);
          // The usual case: there is one attempt, so its engine's count needs no adding up.
          if (state.isOnly) return events;
          return events.map((event) => (event.type === 'usage' ? (usageOf(state) ?? event) : event));
        },
        /** Call it when the attempt is over. Resolves when its output has been counted. */
        close: (how: 'whole' | 'broken'): Promise<void> => close(state, tally, how),
      };
    },
  };
}

function takePrompt(state: TotalsState, { promptTokens, cachedTokens }: Usage, { prefixTokens }: ShareOptions): void {
  if (state.prompt !== undefined && !state.isOnly) return;
  const own = Math.max(0, promptTokens - prefixTokens);
  state.prompt = {
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
async function countRepeated(tally: Tally, countText: CountText | undefined): Promise<void> {
  const { all, texts } = tally.options.repeated();
  if (tally.reported === undefined || all || texts.length === 0 || countText === undefined) return;
  tally.repeatedTokens = await countRuns(texts, countText);
}

function reasoningOf({ reported, reasoned, options }: Tally, reasoningBefore: number | undefined): number | undefined {
  const fromEngine = reported?.reasoningTokens;
  if (fromEngine === undefined) return reasoned ? undefined : 0;
  // The tokens of repeated reasoning were counted before.
  return options.repeated().deltas > 0 || options.repeated().all
    ? Math.max(0, fromEngine - (reasoningBefore ?? 0))
    : fromEngine;
}

function usageOf(state: TotalsState): UsageEvent | undefined {
  const { prompt } = state;
  if (prompt === undefined) return undefined;
  let completionTokens = state.output;
  let reasoningTokens = state.reasoning;
  let source = state.countedBy;
  for (const tally of state.open) {
    completionTokens += addedBy(tally);
    if (tally.reported === undefined && tally.deltas > 0) source = 'estimate';
    else source = leastExact(source, tally.reportedBy);
    const more = reasoningOf(tally, state.reasoning);
    reasoningTokens = reasoningTokens === undefined || more === undefined ? undefined : reasoningTokens + more;
  }
  const split = reasoningTokens === undefined || reasoningTokens === 0 ? {} : { reasoningTokens };
  return {
    type: 'usage',
    usage: { ...prompt, completionTokens, ...split },
    ...(source === 'engine' ? {} : { countedBy: source }),
  };
}

function note(state: TotalsState, tally: Tally, event: AnswerEvent): void {
  if (event.type === 'usage') {
    tally.reported = event.usage;
    tally.reportedBy = event.countedBy ?? 'engine';
    tally.runs.clear();
    tally.deltas = 0;
    takePrompt(state, event.usage, tally.options);
    return;
  }
  if (event.type === 'reasoning-delta') tally.reasoned = true;
  tally.deltas += deltasOf(event);
  if (state.countText !== undefined) tally.runs.take(event);
}

async function close(state: TotalsState, tally: Tally, how: 'whole' | 'broken'): Promise<void> {
  const { countText } = state;
  // An engine's last report covers a whole answer. In a broken answer, the output after the report has to be counted.
  const isTold = how === 'whole' && tally.reported !== undefined;
  await countRepeated(tally, countText);
  const isUncounted = !isTold && tally.deltas > 0;
  const counted = isUncounted ? await (countText && countRuns(tally.runs.texts(), countText)) : 0;
  state.isOnly = false;
  state.open.delete(tally);
  state.countedBy = leastExact(state.countedBy, tally.reportedBy);
  const after = counted ?? tally.deltas;
  if (isUncounted) state.countedBy = leastExact(state.countedBy, counted === undefined ? 'estimate' : 'tokenizer');
  const more = reasoningOf(tally, state.reasoning);
  const { reasoning } = state;
  state.reasoning = reasoning === undefined || more === undefined ? undefined : reasoning + more;
  state.output += (tally.reported === undefined ? 0 : addedBy(tally)) + after;
}
