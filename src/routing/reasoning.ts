import type { ReasoningControl, ReasoningSetting } from '../core/capability.ts';
import type { Model, ReasoningEffort } from '../core/catalog.ts';
import type { ReasoningAsk } from '../core/request.ts';

const ladder: readonly ReasoningEffort[] = ['low', 'medium', 'high', 'max'];

/** Shares of the output cap that a budget must reach to count as a level, and the token counts where there is no cap. */
const levels: readonly { readonly effort: ReasoningEffort; readonly share: number; readonly tokens: number }[] = [
  { effort: 'max', share: 0.9, tokens: 32_768 },
  { effort: 'high', share: 0.65, tokens: 12_288 },
  { effort: 'medium', share: 0.35, tokens: 4096 },
  { effort: 'low', share: 0, tokens: 0 },
];

/** The level nearest to a budget, for routes without budgets of their own. */
export function effortOfBudget(budgetTokens: number, maxOutputTokens: number | undefined): ReasoningEffort {
  const reached = levels.find(({ share, tokens }) =>
    maxOutputTokens === undefined ? budgetTokens >= tokens : budgetTokens >= share * maxOutputTokens,
  );
  return reached?.effort ?? 'low';
}

/** The deepest supported level that is not deeper than the one asked for; else the least one there is. */
function clamp(asked: ReasoningEffort, supported: readonly ReasoningEffort[]): ReasoningEffort | undefined {
  const wanted = ladder.indexOf(asked);
  return supported.findLast((effort) => ladder.indexOf(effort) <= wanted) ?? supported[0];
}

/**
 * What reasoning comes to on a route (docs/reference/api.md §4.1.1): omitted is the deepest the route provably honours,
 * a level is clamped to what it knows, a budget is its own or becomes a level. Undefined for a model that does not
 * reason: there is nothing to say. `impossible` where it would have to be off and cannot be.
 */
export function settleReasoning(
  ask: ReasoningAsk | undefined,
  options: { readonly model: Model; readonly control: ReasoningControl; readonly maxOutputTokens: number | undefined },
): ReasoningSetting | undefined | 'impossible' {
  const { model, control, maxOutputTokens } = options;
  const { mode, efforts } = model.reasoning;
  if (mode === 'None') return undefined;
  if (ask?.enabled === false) return mode === 'Optional' && control.off ? { enabled: false } : 'impossible';
  if (ask?.budgetTokens !== undefined && control.budget) return { enabled: true, budgetTokens: ask.budgetTokens };
  const supported = ladder.filter((effort) => control.efforts.includes(effort) && efforts.includes(effort));
  const asked =
    ask?.budgetTokens === undefined ? (ask?.effort ?? 'max') : effortOfBudget(ask.budgetTokens, maxOutputTokens);
  const effort = clamp(asked, supported);
  return { enabled: true, ...(effort === undefined ? {} : { effort }) };
}
