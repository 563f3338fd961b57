import { createOutputEstimate } from '../core/count-tokens.ts';
import type { RelayedEvent } from '../core/event.ts';
import type { CountedBy, Usage } from '../core/money.ts';
import { billing, type Ending } from './billing.ts';

export interface Metered {
  readonly usage: Usage;
  readonly countedBy: CountedBy;
}

/** Counts what one answer used, from the events that were delivered. */
export interface Meter {
  readonly take: (events: readonly RelayedEvent[]) => void;
  /** What would be billed if the caller left now. */
  readonly soFar: () => Usage;
  /** What is billed for an answer that ended like this (`billing`). */
  readonly bill: (ending: Ending) => Metered;
}

const nothing: Metered = { usage: { promptTokens: 0, completionTokens: 0 }, countedBy: 'engine' };

/** Starts a count. `promptEstimate` stands for the tokens of the prompt until something better is told. */
export function createMeter(promptEstimate: number): Meter {
  let reported: Usage | undefined;
  /** Who counted what was reported. */
  let reportedBy: CountedBy = 'engine';
  /** What was delivered since the report. */
  const since = createOutputEstimate();
  /** Searches that brought a result; undefined while none was made. */
  let webSearches: number | undefined;

  /** Output delivered: the engine's running count, and an estimate of what came after it. */
  const delivered = (): number => (reported?.completionTokens ?? 0) + since.tokens();

  function input(): Pick<Usage, 'promptTokens' | 'cachedTokens'> {
    if (reported === undefined) return { promptTokens: promptEstimate };
    const { promptTokens, cachedTokens } = reported;
    return cachedTokens === undefined ? { promptTokens } : { promptTokens, cachedTokens };
  }

  const searched = (): Pick<Usage, 'webSearches'> => (webSearches === undefined ? {} : { webSearches });

  function soFar(): Usage {
    return { ...input(), completionTokens: delivered(), ...searched() };
  }

  return {
    soFar,
    take: (events) => {
      for (const event of events) {
        since.take(event);
        if (event.type === 'search-call') webSearches ??= 0;
        if (event.type === 'search-result' && event.result.kind === 'found') webSearches = (webSearches ?? 0) + 1;
        if (event.type !== 'usage') continue;
        reported = event.usage;
        reportedBy = event.countedBy ?? 'engine';
        since.clear();
      }
    },
    bill: (ending) => {
      const row = billing[ending];
      if (row.output === 'free') return nothing;
      const searches = row.searches === 'billed' ? searched() : {};
      if (row.output === 'reported' && reported !== undefined) {
        return { usage: { ...reported, ...searches }, countedBy: reportedBy };
      }
      const prompt = row.input === 'billed' ? input() : { promptTokens: 0 };
      return {
        usage: { ...prompt, completionTokens: delivered(), ...searches },
        countedBy: reported === undefined || since.tokens() > 0 ? 'estimate' : reportedBy,
      };
    },
  };
}
