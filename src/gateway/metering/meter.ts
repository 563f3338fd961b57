import type { OutcomeKind } from '../../core/settled-request.ts';
import { countRuns, createOutputEstimate, createRuns } from '../core/count-tokens.ts';
import type { RelayedEvent, UsageEvent } from '../../core/event.ts';
import type { TokenizerBounds } from '../../core/prompt.ts';
import { type CountedBy, leastExact, type Usage } from '../../core/money.ts';

interface Metered {
  readonly usage: Usage;
  readonly countedBy: CountedBy;
}

/** Counts what one answer used, from the events that were delivered. */
export type Meter = ReturnType<typeof createMeter>;

/** Counts with the model's own tokenizer; each resolves to undefined when it cannot. */
export interface TokenCounters {
  readonly countPrompt: () => Promise<number | undefined>;
  readonly countText: (text: string) => Promise<number | undefined>;
  /** The tokenizer's bounds, once it is loaded. */
  readonly bounds?: () => TokenizerBounds | undefined;
}

/** Most text that is kept to be counted, UTF-16 units; an answer with more is estimated. */
const maxKept = 8 * 1024 * 1024;

const nothing: Metered = { usage: { promptTokens: 0, completionTokens: 0 }, countedBy: 'engine' };

/**
 * Starts a count. Counts that the engine reports are preferred. Without them, the model's tokenizer counts when the
 * bill is made (docs/concepts/architecture.md §4.1), from text that is kept in memory until then. Without a tokenizer,
 * the count is an estimate. `promptEstimate` is used for the prompt while nothing better is known.
 */
export function createMeter(promptEstimate: number, counters: TokenCounters | undefined) {
  let reported: Usage | undefined;
  let reportedBy: CountedBy = 'engine';
  /** Parts of the report that are estimates in place of impossible counts. */
  let estimated: UsageEvent['estimated'];
  /** The last count of the output that is no such estimate. */
  let trueOutput = 0;
  /** Estimate of the output that was delivered since the report. */
  const since = createOutputEstimate();
  /** Text for the tokenizer, delivered since the last true count of the output. */
  const kept = createRuns();
  /** Searches that brought a result. Undefined if the answer had no search. */
  let webSearches: number | undefined;

  /** Delivered output: the engine's running count, and an estimate of the rest. */
  const delivered = (): number => (reported?.completionTokens ?? 0) + since.tokens();

  function input(): Pick<Usage, 'promptTokens' | 'cachedTokens'> {
    if (reported === undefined) return { promptTokens: promptEstimate };
    const { promptTokens, cachedTokens } = reported;
    return cachedTokens === undefined ? { promptTokens } : { promptTokens, cachedTokens };
  }

  const searched = (): Pick<Usage, 'webSearches'> => (webSearches === undefined ? {} : { webSearches });

  function take(event: RelayedEvent): void {
    since.take(event);
    if (counters !== undefined && kept.length() < maxKept) kept.take(event);
    if (event.type === 'search-call') webSearches ??= 0;
    if (event.type === 'search-result' && event.result.kind === 'found') webSearches = (webSearches ?? 0) + 1;
    if (event.type !== 'usage') return;
    reported = event.usage;
    reportedBy = event.countedBy ?? 'engine';
    estimated = event.estimated;
    since.clear();
    if (estimated?.completion === true) return;
    trueOutput = event.usage.completionTokens;
    kept.clear();
  }

  /** The bill without the tokenizer. */
  function estimate(row: BillingRow): Metered {
    const searches = row.searches === 'billed' ? searched() : {};
    if (row.output === 'reported' && reported !== undefined) {
      return { usage: { ...reported, ...searches }, countedBy: reportedBy };
    }
    const prompt = row.input === 'billed' ? input() : { promptTokens: 0 };
    return {
      usage: { ...prompt, completionTokens: delivered(), ...searches },
      countedBy: reported === undefined || since.tokens() > 0 ? 'estimate' : reportedBy,
    };
  }

  return {
    /** What would be billed if the caller left now. */
    soFar: (): Usage => ({ ...input(), completionTokens: delivered(), ...searched() }),
    take: (events: readonly RelayedEvent[]): void => {
      for (const event of events) take(event);
    },
    /** The bill of an answer with this ending, by the table `billing`. It is an estimate only if the answer cannot be counted. */
    bill: async (ending: AnswerEnding): Promise<Metered> => {
      const row = billing[ending];
      if (row.output === 'free') return nothing;
      const metered = estimate(row);
      if (metered.countedBy !== 'estimate' || counters === undefined || kept.length() >= maxKept) return metered;
      const { usage } = metered;
      // A prompt needs no count if it is not billed or the engine has reported it.
      const isPromptKnown = row.input === 'free' || (reported !== undefined && estimated?.prompt !== true);
      const [promptTokens, tail] = await Promise.all([
        isPromptKnown ? usage.promptTokens : counters.countPrompt(),
        countRuns(kept.texts(), counters.countText),
      ]);
      if (promptTokens === undefined || tail === undefined) return metered;
      return {
        usage: {
          ...usage,
          promptTokens,
          completionTokens: trueOutput + tail,
          ...(usage.cachedTokens === undefined ? {} : { cachedTokens: Math.min(usage.cachedTokens, promptTokens) }),
        },
        countedBy: leastExact(estimated === undefined ? reportedBy : 'engine', 'tokenizer'),
      };
    },
  };
}

/**
 * How a request ended, for its bill. `not-dispatched`: no engine was called. `unheard`: its caller left before anything
 * showed that an engine had the request.
 */
export type AnswerEnding = OutcomeKind | 'not-dispatched' | 'unheard';

interface BillingRow {
  readonly input: 'billed' | 'free';
  /** All that the engine reported, or only the delivered part, or nothing. */
  readonly output: 'reported' | 'delivered' | 'free';
  /** Searches of the web whose results were delivered. */
  readonly searches: 'billed' | 'free';
}

/**
 * What is billed for each ending (docs/reference/api.md §1, §7.3, §7.5; docs/concepts/architecture.md §4.1). Hedges
 * that lost and attempts that failed are never counted, so they have no row.
 */
const billing: Readonly<Record<AnswerEnding, BillingRow>> = {
  // A refusal by the model is an ordinary answer (docs/reference/api.md §7.4).
  completed: { input: 'billed', output: 'reported', searches: 'billed' },
  // The caller left before the first byte, in mid-stream, or just before the usage. Output that was made is paid for.
  cancelled: { input: 'billed', output: 'delivered', searches: 'billed' },
  // `stream_interrupted`: only delivered tokens are billed.
  interrupted: { input: 'free', output: 'delivered', searches: 'free' },
  // The service lost the request in mid-answer. Only delivered tokens are billed.
  'service-lost': { input: 'free', output: 'delivered', searches: 'free' },
  // `upstream_incomplete`: nothing was delivered.
  incomplete: { input: 'free', output: 'free', searches: 'free' },
  // 502 and 503. Every 4xx is refused before there is anything to settle.
  failed: { input: 'free', output: 'free', searches: 'free' },
  unheard: { input: 'free', output: 'free', searches: 'free' },
  'not-dispatched': { input: 'free', output: 'free', searches: 'free' },
};
