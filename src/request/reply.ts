import type { Dialect } from '../core/dialect.ts';
import type { Exchange, Headers } from '../core/exchange.ts';
import { Failure } from '../core/failure.ts';
import { requestIdHeaders } from './request-id.ts';
import type { Endpoint } from './endpoint.ts';

/** Answers an exchange with a failure: its status, its headers, and the envelope of docs/reference/api.md §7.1. */
export function replyFailure(exchange: Exchange, failure: Failure, dialect: Dialect): void {
  const { retryAfterSeconds, row, headers } = failure;
  const id = requestIdHeaders(dialect, exchange.head);
  // docs/reference/api.md §4.1.3: this one status is plain text.
  if (failure.code === 'body_too_large') {
    exchange.reply(413, [['content-type', 'text/plain'], ...id], failure.message);
    return;
  }
  const wait: Headers = retryAfterSeconds === undefined ? [] : [['retry-after', String(retryAfterSeconds)]];
  const all: Headers = [['content-type', 'application/json'], ...id, ...wait, ...headers];
  exchange.reply(row.status, all, dialect.writeError(failure));
}

const json: Headers = [['content-type', 'application/json']];
const preflight: Headers = [
  ['access-control-allow-origin', '*'],
  ['access-control-allow-methods', 'GET, HEAD'],
  ['access-control-allow-headers', '*'],
  ['access-control-max-age', '86400'],
];

/** Answers what needs no model and no key. `modelList` is the body of `GET /v1/models`. Throws `not_found`. */
export function replyFixed(
  exchange: Exchange,
  kind: Exclude<Endpoint['kind'], 'answer'>,
  modelList: () => string,
): void {
  switch (kind) {
    case 'models':
      exchange.reply(200, [...json, ['access-control-allow-origin', '*']], modelList());
      return;
    case 'models-preflight':
      exchange.reply(204, preflight, '');
      return;
    case 'health':
      exchange.reply(200, json, '{"status":"ok"}');
      return;
    case 'unknown':
      throw new Failure('not_found', 'There is nothing at this path and method.');
  }
}
