import type { RequestEvent } from './events.ts';

/** The values of a request in the dimensions that are crossed. */
function valuesOf(event: RequestEvent): readonly string[] {
  const { directive = {}, leavesAfterMs, readsPerMs } = event;
  const { fault, status, at, usage, usageWhere } = directive;
  const place = at === undefined ? 'nowhere' : typeof at === 'string' ? at : JSON.stringify(at);
  const trouble = fault ?? (status === undefined ? undefined : 'status');
  return [
    event.surface,
    event.stream ? 'stream' : 'json',
    event.ask,
    // The one that reasons is also the one whose requests are hedged.
    event.model,
    `${event.choices} choices`,
    `trouble ${trouble ?? (directive.firstTokenDelayMs === undefined ? 'none' : 'slow')}`,
    `at ${place}`,
    `usage ${usage ?? usageWhere ?? 'once'}`,
    // The second key of the first two workspaces has a budget, and the last workspace hardly any money.
    event.key === 4 || event.key === 5 ? 'poor' : event.key < 4 && event.key % 2 === 1 ? 'budget' : 'rich',
    leavesAfterMs === undefined ? 'stays' : 'leaves',
    readsPerMs === undefined ? 'reads at once' : 'reads slowly',
  ];
}

/** Each two values that meet in a request. */
export function pairsOf(event: RequestEvent): readonly string[] {
  const values = valuesOf(event);
  return values.flatMap((value, index) => values.slice(index + 1).map((other) => `${value}, ${other}`));
}
