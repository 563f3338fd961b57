import type { Model } from '../core/catalog.ts';
import type { PreparedRequest, PromptCounting, Tokenizers } from '../core/prompt.ts';
import type { TokenCounters } from '../metering/exact-meter.ts';

export interface CountersOptions {
  readonly model: Model;
  readonly tokenizers: Tokenizers;
  readonly counting: PromptCounting | undefined;
}

/** The model's own counts of a request, for what no engine reports; undefined when it has no tokenizer. */
export function countersFor(prepared: PreparedRequest, options: CountersOptions): TokenCounters | undefined {
  const { model, tokenizers, counting } = options;
  if (counting === undefined) return undefined;
  return {
    countPrompt: async () => {
      const count = await prepared.countPrompt({ ...counting, want: 'count', limit: model.contextLength });
      return count.kind === 'counted' ? count.tokens : undefined;
    },
    countText: (text) => tokenizers.countText(counting.tokenizerPath, text),
  };
}
