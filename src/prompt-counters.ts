import type { Plan } from './core/plan.ts';
import type { PreparedRequest, PromptCountAsk } from './core/prepared.ts';
import type { Tokenizers } from './core/tokenizer.ts';
import { templateArguments } from './dialects/engines/template-arguments.ts';
import type { TokenCounters } from './settlement/exact-meter.ts';

/** The model's own counts of a request, for what no engine reports; undefined when it has no tokenizer. */
export function countersFor(
  prepared: PreparedRequest,
  { model, routes: [first] }: Plan,
  tokenizers: Tokenizers,
): TokenCounters | undefined {
  if (model.tokenizer === undefined) return undefined;
  const { path: tokenizerPath, tokensPerImage } = model.tokenizer;
  const ask: PromptCountAsk = {
    ...{ tokenizerPath, want: 'count', limit: model.contextLength },
    ...(tokensPerImage === undefined ? {} : { tokensPerImage }),
    templateArguments: templateArguments(first.target),
  };
  return {
    countPrompt: async () => {
      const count = await prepared.countPrompt(ask);
      return count.kind === 'counted' ? count.tokens : undefined;
    },
    countText: (text) => tokenizers.countText(tokenizerPath, text),
  };
}
