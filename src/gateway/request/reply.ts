import type { Dialect } from '../../core/dialect.ts';
import type { Exchange, RequestHead } from '../../core/exchange.ts';
import type { Headers } from '../../core/headers.ts';
import { asFailure, type Failure } from '../../core/failure.ts';

/**
 * Answers an exchange with the failure behind an error, and returns that failure. Undefined: the caller left before the
 * request was complete, and there is nothing to answer.
 */
export function replyRefusal(exchange: Exchange, error: unknown, dialect: Dialect): Failure | undefined {
  if (exchange.signal.aborted && error === exchange.signal.reason) return undefined;
  const failure = asFailure(error);
  replyFailure(exchange, failure, dialect);
  return failure;
}

/** Answers an exchange with a failure: its status, its headers, and the envelope of docs/reference/api.md §7.1. */
function replyFailure(exchange: Exchange, failure: Failure, dialect: Dialect): void {
  const { retryAfterSeconds, row, headers } = failure;
  const id = requestIdHeaders(dialect, exchange.head);
  // The only error in plain text (docs/reference/endpoints.md §4.1.3).
  if (failure.code === 'body_too_large') {
    exchange.reply(413, [['content-type', 'text/plain'], ...id], failure.message);
    return;
  }
  const wait: Headers = retryAfterSeconds === undefined ? [] : [['retry-after', String(retryAfterSeconds)]];
  const all: Headers = [['content-type', 'application/json'], ...id, ...wait, ...headers];
  exchange.reply(row.status, all, dialect.writeError(failure));
}

/** Maximum length of a request id that is repeated: four times that of a UUID. */
const maxRequestId = 144;

/**
 * The request's `x-request-id`, the caller's own or Envoy's, in the header that clients of this dialect read. Envoy adds
 * `x-request-id` itself to the answers of every surface.
 */
export function requestIdHeaders({ requestIdHeader }: Dialect, head: RequestHead): Headers {
  const id = head.header('x-request-id');
  // A caller can write anything there, up to the size of all its headers.
  if (requestIdHeader === undefined || id === undefined || id.length > maxRequestId) return [];
  return [[requestIdHeader, id]];
}
