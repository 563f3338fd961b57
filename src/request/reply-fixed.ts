import type { Exchange, Headers } from '../core/exchange.ts';
import { Failure } from '../core/failure.ts';
import type { Endpoint } from './endpoint.ts';

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
