import { longestShownPath, nothingAt } from '../core/api-paths.ts';
import type { Dialect } from '../core/dialect.ts';
import type { Exchange, RequestHead } from '../core/exchange.ts';
import type { Headers } from '../core/headers.ts';
import { Failure } from '../core/failure.ts';
import type { ModelPatterns } from '../core/model-patterns.ts';
import { type AuthenticateOptions, listedModels } from '../admission/authenticate.ts';
import { dialects } from '../dialects/dialects.ts';

/** What a request asks for, by its method and path (docs/reference/api.md §4). A query makes no difference. */
export interface Operation {
  readonly kind: 'answer' | 'models' | 'models-preflight' | 'health' | 'unknown';
  /** The format in which its caller expects an answer, an error above all. */
  readonly dialect: Dialect;
}

const kinds: ReadonlyMap<string, Operation['kind']> = new Map([
  ['POST /v1/chat/completions', 'answer'],
  ['POST /v1/messages', 'answer'],
  ['GET /v1/models', 'models'],
  ['HEAD /v1/models', 'models'],
  ['OPTIONS /v1/models', 'models-preflight'],
  ['GET /healthz', 'health'],
  ['HEAD /healthz', 'health'],
]);

export function operationOf({ method, path }: Pick<RequestHead, 'method' | 'path'>): Operation {
  const [pathname = ''] = path.split('?', 1);
  // With what that format's clients ask for besides, such as `/v1/messages/count_tokens`.
  const isMessages = /^\/v1\/messages(?:\/|$)/.test(pathname);
  return {
    kind: kinds.get(`${method} ${pathname}`) ?? 'unknown',
    dialect: isMessages ? dialects.messages : dialects.chat,
  };
}

const json: Headers = [['content-type', 'application/json']];
const preflight: Headers = [
  ['access-control-allow-origin', '*'],
  ['access-control-allow-methods', 'GET, HEAD'],
  // A key may come with the question, and `*` does not stand for this header (https://fetch.spec.whatwg.org/#cors-preflight-fetch).
  ['access-control-allow-headers', '*, authorization'],
  ['access-control-max-age', '86400'],
];

/** The catalog is for every origin, and a key may have one of its own. */
const catalog: Headers = [...json, ['access-control-allow-origin', '*'], ['vary', 'authorization, x-api-key']];

/** The services that answer everything except requests for an answer. */
export interface OtherServices extends AuthenticateOptions {
  /** The body of `GET /v1/models`, with these models alone. */
  readonly modelList: (models: ModelPatterns | undefined) => string;
}

/** Answers everything except requests for an answer. Rejects with `not_found` when there is nothing at the path. */
export async function replyOther(
  exchange: Exchange,
  kind: Exclude<Operation['kind'], 'answer'>,
  services: OtherServices,
): Promise<void> {
  const { method, path } = exchange.head;
  switch (kind) {
    case 'models': {
      const models = listedModels(exchange.head, services);
      // A list that needs no query is sent at once.
      exchange.reply(200, catalog, services.modelList(models instanceof Promise ? await models : models));
      return;
    }
    case 'models-preflight':
      exchange.reply(204, preflight, '');
      return;
    case 'health':
      exchange.reply(200, json, '{"status":"ok"}');
      return;
    case 'unknown':
      throw new Failure('not_found', nothingAt(`${method} ${path.split('?', 1)[0]?.slice(0, longestShownPath)}`));
  }
}
