import type { Behaviour } from './behaviour.ts';
import { type JsonObject, objectOr } from './json-value.ts';

/** Whether the model is to reason, and how much. */
export interface ReasoningWish {
  readonly on: boolean;
  readonly words: number;
  /** Upper bound in tokens, where the request gave one. */
  readonly budgetTokens: number | undefined;
}

/** Understands every vendor's way to say it, so that one engine can stand in for all of them. */
export function readReasoningWish(body: JsonObject, behaviour: Behaviour): ReasoningWish {
  const template = objectOr(body['chat_template_kwargs']);
  const thinking = objectOr(body['thinking']);
  const reasoning = objectOr(body['reasoning']);
  const effort = firstString([body['reasoning_effort'], reasoning['effort'], template['reasoning_effort']]);
  const switches = [
    body['enable_thinking'],
    template['enable_thinking'],
    template['thinking'],
    reasoning['enabled'],
    reasoning['enable'],
    thinking['type'] === undefined ? undefined : thinking['type'] !== 'disabled',
    effort === undefined ? undefined : effort !== 'none',
  ].filter((one) => typeof one === 'boolean');
  const budgets = [
    body['thinking_token_budget'],
    body['thinking_budget'],
    thinking['budget_tokens'],
    reasoning['max_tokens'],
  ].filter((one) => typeof one === 'number');
  const asked = switches.length === 0 && budgets.length === 0 ? undefined : !switches.includes(false);
  return {
    on: reasons(asked, behaviour.reasoning ?? 'default-on'),
    words: behaviour.reasoningWords ?? wordsByEffort[effort ?? ''] ?? 24,
    budgetTokens: budgets[0],
  };
}

function reasons(asked: boolean | undefined, habit: NonNullable<Behaviour['reasoning']>): boolean {
  switch (habit) {
    case 'always':
      return true;
    case 'never':
      return false;
    case 'default-on':
      return asked ?? true;
    case 'default-off':
      return asked ?? false;
  }
}

const wordsByEffort: { readonly [effort: string]: number } = {
  minimal: 6,
  low: 10,
  medium: 20,
  high: 40,
  xhigh: 60,
  max: 60,
};

function firstString(values: readonly unknown[]): string | undefined {
  return values.find((value) => typeof value === 'string');
}
