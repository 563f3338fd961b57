import { z } from 'zod';
import { jsonSchema } from '../../../core/body-schema.ts';
import type { ReasoningAsk } from '../../../core/request.ts';
import { askOfLevel, reasoningLevel } from '../reasoning-level.ts';
import { count } from '../wire-fields.ts';

/** This format has no level below `low`. */
const level = reasoningLevel.exclude(['none', 'minimal']);

/** A budget below this format's own minimum or above the cap is accepted and honoured as far as possible. */
const thinking = z.discriminatedUnion('type', [
  z.object({ type: z.literal('enabled'), budget_tokens: count.nullish() }),
  z.object({ type: z.literal('disabled') }),
  // Engines cannot limit reasoning to the time between calls, so with both types the model decides.
  z.object({ type: z.enum(['adaptive', 'between_tools']) }),
]);

/** How much reasoning the model does, and the format of the output. */
const outputConfig = z.object({
  effort: level.nullish(),
  format: z.object({ type: z.literal('json_schema'), schema: jsonSchema }).nullish(),
});

export const reasoningFields = { thinking: thinking.nullish(), output_config: outputConfig.nullish() };

type ReasoningBody = z.infer<z.ZodObject<typeof reasoningFields>>;

/**
 * Reads the reasoning that a body asks for. Returns undefined when it has no such field, which means the same as on the chat surface:
 * on, at the highest setting (docs/reference/endpoints.md §4.1.1). Off precedes a budget, and a budget precedes an effort.
 */
export function readReasoning({ thinking: asked, output_config: config }: ReasoningBody): ReasoningAsk | undefined {
  if (asked?.type === 'disabled') return { enabled: false };
  if (asked?.type === 'enabled' && typeof asked.budget_tokens === 'number') {
    return { enabled: true, budgetTokens: asked.budget_tokens };
  }
  const effort = config?.effort;
  if (effort !== undefined && effort !== null) return askOfLevel(effort);
  return asked === undefined || asked === null ? undefined : { enabled: true };
}
