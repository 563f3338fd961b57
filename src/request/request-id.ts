import type { Dialect } from '../core/dialect.ts';
import type { Headers, RequestHead } from '../core/exchange.ts';

/**
 * The id of a request under the name by which its dialect's clients read it. Envoy answers with it as `x-request-id` on every
 * surface: the caller's own, or one that Envoy made.
 */
export function requestIdHeaders({ requestIdHeader }: Dialect, head: RequestHead): Headers {
  const id = head.header('x-request-id');
  return requestIdHeader === undefined || id === undefined ? [] : [[requestIdHeader, id]];
}
