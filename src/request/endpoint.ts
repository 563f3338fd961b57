import type { Dialect } from '../core/dialect.ts';
import type { RequestHead } from '../core/exchange.ts';
import { dialects } from '../dialects/dialects.ts';

/** What a request asks for, by its method and path (docs/reference/api.md §4). A query makes no difference. */
export interface Endpoint {
  readonly kind: 'answer' | 'models' | 'models-preflight' | 'health' | 'unknown';
  /** The format in which its caller expects an answer, an error above all. */
  readonly dialect: Dialect;
}

const kinds: ReadonlyMap<string, Endpoint['kind']> = new Map([
  ['POST /v1/chat/completions', 'answer'],
  ['POST /v1/messages', 'answer'],
  ['GET /v1/models', 'models'],
  ['HEAD /v1/models', 'models'],
  ['OPTIONS /v1/models', 'models-preflight'],
  ['GET /healthz', 'health'],
  ['HEAD /healthz', 'health'],
]);

export function endpointOf({ method, path }: Pick<RequestHead, 'method' | 'path'>): Endpoint {
  const [pathname = ''] = path.split('?', 1);
  // With what that format's clients ask for besides, such as `/v1/messages/count_tokens`.
  const isMessages = /^\/v1\/messages(?:\/|$)/.test(pathname);
  return {
    kind: kinds.get(`${method} ${pathname}`) ?? 'unknown',
    dialect: isMessages ? dialects.messages : dialects.chat,
  };
}
