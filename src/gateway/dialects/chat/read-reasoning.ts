import { z } from 'zod';
import type { ReasoningAsk } from '../../../core/request.ts';
import { askOfLevel, reasoningLevel } from '../reasoning-level.ts';

const budget = z.int().min(0).max(1_000_000_000);

/** Every spelling of reasoning control that is accepted (docs/reference/endpoints.md §4.1.1). */
export const reasoningFields = {
  reasoning_effort: reasoningLevel.nullish(),
  reasoning: z
    .object({
      enabled: z.boolean().nullish(),
      effort: reasoningLevel.nullish(),
      max_tokens: budget.nullish(),
    })
    .nullish(),
  thinking: z.object({ type: z.enum(['enabled', 'disabled', 'adaptive']), budget_tokens: budget.nullish() }).nullish(),
  thinking_budget: budget.nullish(),
  enable_thinking: z.boolean().nullish(),
  chat_template_kwargs: z.object({ enable_thinking: z.boolean().nullish(), thinking: z.boolean().nullish() }).nullish(),
};

type ReasoningBody = z.infer<z.ZodObject<typeof reasoningFields>>;

/**
 * Reads the reasoning that a body asks for. Returns undefined when it has no such field. Of several fields the first of these counts:
 * `reasoning_effort`, `reasoning`, `thinking`, `thinking_budget`, `enable_thinking`, `chat_template_kwargs`. Inside
 * `reasoning`, `enabled: false` precedes a budget, and a budget precedes an effort.
 */
export function readReasoning(body: ReasoningBody): ReasoningAsk | undefined {
  const { reasoning_effort: effort, thinking_budget: tokens, chat_template_kwargs: kwargs } = body;
  if (effort !== undefined && effort !== null) return askOfLevel(effort);
  return (
    fromReasoning(body) ??
    fromThinking(body) ??
    (typeof tokens === 'number' ? fromBudget(tokens) : undefined) ??
    fromSwitch(body.enable_thinking) ??
    fromSwitch(kwargs?.enable_thinking ?? kwargs?.thinking)
  );
}

/** A budget of 0 turns reasoning off. */
function fromBudget(tokens: number): ReasoningAsk {
  return tokens === 0 ? { enabled: false } : { enabled: true, budgetTokens: tokens };
}

function fromReasoning({ reasoning }: ReasoningBody): ReasoningAsk | undefined {
  if (reasoning === undefined || reasoning === null) return undefined;
  if (reasoning.enabled === false) return { enabled: false };
  if (typeof reasoning.max_tokens === 'number') return fromBudget(reasoning.max_tokens);
  if (reasoning.effort !== undefined && reasoning.effort !== null) return askOfLevel(reasoning.effort);
  return reasoning.enabled === true ? { enabled: true } : undefined;
}

function fromThinking({ thinking }: ReasoningBody): ReasoningAsk | undefined {
  if (thinking === undefined || thinking === null) return undefined;
  if (thinking.type === 'disabled') return { enabled: false };
  return typeof thinking.budget_tokens === 'number' ? fromBudget(thinking.budget_tokens) : { enabled: true };
}

function fromSwitch(value: boolean | null | undefined): ReasoningAsk | undefined {
  return value === undefined || value === null ? undefined : { enabled: value };
}
