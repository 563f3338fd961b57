import { enginesOf } from './catalog.ts';
import type { RequestEvent } from './events.ts';

/** What is read of a request: when it came, and what it tells which engines. */
export type AskedRequest = Pick<RequestEvent, 'at' | 'directive'>;

/** An endpoint that says several times that it is full is left alone for so long (src/routing/health/cooling.ts). */
const mostCoolMs = 10_000;

/**
 * Whether an endpoint could have served a request, although some engines fail for it. An engine that said shortly before that it is full
 * is left alone. `until`: the end of the request.
 */
export function couldBeServed(
  request: AskedRequest,
  { requests, until }: { readonly requests: readonly AskedRequest[]; readonly until: number },
): boolean {
  const lost = new Set(request.directive?.on ?? []);
  for (const { at, directive } of requests) {
    if (directive?.status !== 429 || at < request.at - mostCoolMs || at > until) continue;
    for (const engine of directive.on ?? []) lost.add(engine);
  }
  return enginesOf.some(({ name }) => !lost.has(name));
}
