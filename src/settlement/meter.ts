import { deltasOf, type RelayedEvent } from '../core/event.ts';
import type { CountedBy, Usage } from '../core/usage.ts';
import { billing, type Ending } from './billing.ts';

/** Bytes of a prompt per token, for the estimate that stands in where no engine and no tokenizer counted. */
const bytesPerToken = 4;

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

/** Tokens of a prompt of which only the size of its request is known. */
export function estimatePrompt(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}

/** Starts a count. `promptBytes` is the size of the request, for when nothing better is told. */
export function createMeter(promptBytes: number): Meter {
  let reported: Usage | undefined;
  /** Who counted what was reported. */
  let reportedBy: CountedBy = 'engine';
  /** The engine's own deltas delivered so far; about one token each. */
  let deltas = 0;
  let deltasAtReport = 0;
  /** Searches that brought a result; undefined while none was made. */
  let webSearches: number | undefined;

  /** Output delivered: the engine's running count, and one token for each delta that came after it. */
  const delivered = (): number => (reported?.completionTokens ?? 0) + deltas - deltasAtReport;

  function input(): Pick<Usage, 'promptTokens' | 'cachedTokens'> {
    if (reported === undefined) return { promptTokens: estimatePrompt(promptBytes) };
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
        deltas += deltasOf(event);
        if (event.type === 'search-call') webSearches ??= 0;
        if (event.type === 'search-result' && event.result.kind === 'found') webSearches = (webSearches ?? 0) + 1;
        if (event.type !== 'usage') continue;
        reported = event.usage;
        reportedBy = event.countedBy ?? 'engine';
        deltasAtReport = deltas;
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
        countedBy: reported === undefined || deltas !== deltasAtReport ? 'estimate' : reportedBy,
      };
    },
  };
}
