import { type KeyPlan, keyPlans } from './accounts.ts';
import type { RequestEvent } from './events.ts';

/** The values of a request in the dimensions that are crossed. */
function valuesOf(event: RequestEvent): readonly string[] {
  const { directive = {}, leavesAfterMs, readsPerMs } = event;
  const { fault, status, at, usage, usageWhere, continuousUsage } = directive;
  const place = at === undefined ? 'nowhere' : typeof at === 'string' ? at : JSON.stringify(at);
  const trouble = fault ?? (status === undefined ? undefined : 'status');
  return [
    event.surface,
    event.stream ? 'stream' : 'json',
    event.ask,
    `search ${event.search?.outcome ?? 'none'}`,
    event.search?.follows === true ? 'goes on' : 'begins',
    `struck ${event.search === undefined ? 'as usual' : event.search.struckRound === 0 ? 'first round' : 'later round'}`,
    `trace ${event.trace ?? 'as usual'}`,
    // The one that reasons is also the one whose requests are hedged.
    event.model,
    `${event.choices} choices`,
    `trouble ${trouble ?? (directive.firstTokenDelayMs === undefined ? 'none' : 'slow')}`,
    `at ${place}`,
    (directive.on?.length ?? 1) > 1 ? 'all engines' : 'one engine',
    `usage ${usage ?? usageWhere ?? (continuousUsage === false ? 'at the end' : 'once')}`,
    moneyOf(keyPlans[event.key]),
    leavesAfterMs === undefined ? 'stays' : 'leaves',
    readsPerMs === undefined ? 'reads at once' : 'reads slowly',
  ];
}

/** The third workspace has hardly any money. */
function moneyOf(plan: KeyPlan | undefined): string {
  if (plan?.workspace === 2) return 'poor';
  return plan?.budget === undefined ? 'rich' : 'budget';
}

/** Numbers of values, so that a pair is a number: the generator compares millions of pairs. */
const numbers = new Map<string, number>();
const mostValues = 1_000;

function numberOf(value: string): number {
  const number = numbers.get(value) ?? numbers.size;
  numbers.set(value, number);
  return number;
}

/** Each two values that meet in a request. */
export function pairsOf(event: RequestEvent): readonly number[] {
  const values = valuesOf(event).map(numberOf);
  return values.flatMap((value, index) => values.slice(index + 1).map((other) => value * mostValues + other));
}

export function pairName(pair: number): string {
  const names = [...numbers.keys()];
  return `${names[Math.floor(pair / mostValues)]}, ${names[pair % mostValues]}`;
}
