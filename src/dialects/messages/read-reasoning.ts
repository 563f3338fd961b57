import { z } from 'zod';
import type { ReasoningEffort } from '../../core/catalog.ts';
import type { ReasoningAsk } from '../../core/request.ts';
import { jsonObject } from '../json-object.ts';

const level = z.enum(['low', 'medium', 'high', 'xhigh', 'max']);

const efforts: Readonly<Record<z.infer<typeof level>, ReasoningEffort>> = {
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
  max: 'max',
};

/** A budget that is smaller than this format's own least, or larger than the cap, is no harm: it is honoured as far as it goes. */
const thinking = z.discriminatedUnion('type', [
  z.object({ type: z.literal('enabled'), budget_tokens: z.int().min(1).max(1_000_000_000).nullish() }),
  z.object({ type: z.literal('disabled') }),
  // Engines cannot think between calls alone: this is thinking as the model sees fit.
  z.object({ type: z.enum(['adaptive', 'between_tools']) }),
]);

/** What the output is to be like: how much thought, and of what form. */
const outputConfig = z.object({
  effort: level.nullish(),
  format: z.object({ type: z.literal('json_schema'), schema: jsonObject }).nullish(),
});

export const reasoningFields = { thinking: thinking.nullish(), output_config: outputConfig.nullish() };

type ReasoningBody = z.infer<z.ZodObject<typeof reasoningFields>>;

/**
 * What a body asks of reasoning; undefined when it says nothing, which means the same as on the chat surface: on, at the deepest
 * setting (docs/reference/api.md §4.1.1). Off comes before an effort, and a budget, too.
 */
export function readReasoning({ thinking: asked, output_config: config }: ReasoningBody): ReasoningAsk | undefined {
  if (asked?.type === 'disabled') return { enabled: false };
  if (asked?.type === 'enabled' && typeof asked.budget_tokens === 'number') {
    return { enabled: true, budgetTokens: asked.budget_tokens };
  }
  const effort = config?.effort;
  if (effort !== undefined && effort !== null) return { enabled: true, effort: efforts[effort] };
  return asked === undefined || asked === null ? undefined : { enabled: true };
}
