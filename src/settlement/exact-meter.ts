import type { OutcomeKind } from '../core/account.ts';
import { countRuns, createRuns } from '../core/counted-runs.ts';
import type { AnswerEvent } from '../core/event.ts';
import { createMeter, type Meter, type Metered } from './meter.ts';

/** Counts with the model's own tokenizer; each gives undefined when it cannot. */
export interface TokenCounters {
  readonly countPrompt: () => Promise<number | undefined>;
  readonly countText: (text: string) => Promise<number | undefined>;
}

export interface ExactMeter extends Pick<Meter, 'take' | 'soFar'> {
  /** What is billed for an answer that ended like this. Estimated only where nobody can count. */
  readonly bill: (kind: OutcomeKind) => Promise<Metered>;
}

/** Most text that is kept to be counted, UTF-16 units; what is beyond it is estimated. */
const maxKept = 8 * 1024 * 1024;

/**
 * A meter that lets the model's tokenizer count what no engine reported (design §5): the text delivered since the last
 * report is kept, in memory only, and counted when the bill is made.
 */
export function createExactMeter(promptBytes: number, counters: TokenCounters | undefined): ExactMeter {
  const meter = createMeter(promptBytes);
  if (counters === undefined) return { ...meter, bill: (kind) => Promise.resolve(meter.bill(kind)) };
  let reportedTokens: number | undefined;
  let isEstimate = false;
  const runs = createRuns();

  function keep(event: AnswerEvent): void {
    if (event.type === 'usage') {
      reportedTokens = event.usage.completionTokens;
      isEstimate = event.estimated === true;
      runs.clear();
    } else if (runs.length() < maxKept) runs.take(event);
  }

  return {
    soFar: meter.soFar,
    take: (events) => {
      meter.take(events);
      for (const event of events) keep(event);
    },
    bill: async (kind) => {
      const metered = meter.bill(kind);
      if (!metered.estimated || runs.length() >= maxKept) return metered;
      const { usage } = metered;
      // Only the delivered output of an interrupted stream is billed, and a reported prompt needs no count.
      const promptIsKnown = kind === 'interrupted' || reportedTokens !== undefined;
      const [promptTokens, tail] = await Promise.all([
        promptIsKnown ? usage.promptTokens : counters.countPrompt(),
        countRuns(runs.texts(), counters.countText),
      ]);
      if (promptTokens === undefined || tail === undefined) return metered;
      return {
        usage: { ...usage, promptTokens, completionTokens: (reportedTokens ?? 0) + tail },
        estimated: isEstimate,
      };
    },
  };
}
