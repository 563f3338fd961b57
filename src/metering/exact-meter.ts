import { countRuns, createRuns } from '../core/count-tokens.ts';
import type { RelayedEvent } from '../core/event.ts';
import { type CountedBy, leastExact } from '../core/money.ts';
import { billing, type Ending } from './billing.ts';
import { createMeter, type Meter, type Metered } from './meter.ts';

/** Counts with the model's own tokenizer; each gives undefined when it cannot. */
export interface TokenCounters {
  readonly countPrompt: () => Promise<number | undefined>;
  readonly countText: (text: string) => Promise<number | undefined>;
}

export interface ExactMeter extends Pick<Meter, 'take' | 'soFar'> {
  /** What is billed for an answer that ended like this. Estimated only where nobody can count. */
  readonly bill: (ending: Ending) => Promise<Metered>;
}

/** Most text that is kept to be counted, UTF-16 units; what is beyond it is estimated. */
const maxKept = 8 * 1024 * 1024;

/**
 * A meter that lets the model's tokenizer count what no engine reported (docs/reference/architecture.md §4.1): the text delivered since the last
 * report is kept, in memory only, and counted when the bill is made.
 */
export function createExactMeter(promptEstimate: number, counters: TokenCounters | undefined): ExactMeter {
  const meter = createMeter(promptEstimate);
  if (counters === undefined) return { ...meter, bill: (ending) => Promise.resolve(meter.bill(ending)) };
  let reportedTokens: number | undefined;
  let reportedBy: CountedBy = 'engine';
  const runs = createRuns();

  function keep(event: RelayedEvent): void {
    if (event.type === 'usage') {
      reportedTokens = event.usage.completionTokens;
      reportedBy = event.countedBy ?? 'engine';
      runs.clear();
    } else if (runs.length() < maxKept) runs.take(event);
  }

  return {
    soFar: meter.soFar,
    take: (events) => {
      meter.take(events);
      for (const event of events) keep(event);
    },
    bill: async (ending) => {
      const metered = meter.bill(ending);
      if (metered.countedBy !== 'estimate' || runs.length() >= maxKept) return metered;
      const { usage } = metered;
      // A prompt that was reported needs no count, nor one that is not billed.
      const promptIsKnown = billing[ending].input === 'free' || reportedTokens !== undefined;
      const [promptTokens, tail] = await Promise.all([
        promptIsKnown ? usage.promptTokens : counters.countPrompt(),
        countRuns(runs.texts(), counters.countText),
      ]);
      if (promptTokens === undefined || tail === undefined) return metered;
      return {
        usage: { ...usage, promptTokens, completionTokens: (reportedTokens ?? 0) + tail },
        countedBy: leastExact(reportedBy, 'tokenizer'),
      };
    },
  };
}
