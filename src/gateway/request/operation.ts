import { answerPaths, maxShownPathLength, nothingAt } from '../../core/api-paths.ts';
import { type Dialect, type Surface, surfaces } from '../../core/dialect.ts';
import type { Exchange, RequestHead } from '../../core/exchange.ts';
import type { Headers } from '../../core/headers.ts';
import { Failure } from '../../core/failure.ts';
import type { ModelPatterns } from '../../core/model-patterns.ts';
import { type AuthenticateOptions, listedModels } from '../admission/authenticate.ts';
import { dialects } from '../dialects/dialects.ts';

/** The operation that a request names by its method and path (docs/reference/api.md §4). A query is ignored. */
export interface Operation {
  readonly kind: 'answer' | 'models' | 'models-preflight' | 'health' | 'unknown';
  /** The format of its answer, and of its error. */
  readonly dialect: Dialect;
}

const surfaceAt: ReadonlyMap<string, Surface> = new Map(surfaces.map((surface) => [answerPaths[surface], surface]));

const kinds: ReadonlyMap<string, Operation['kind']> = new Map([
  ['GET /v1/models', 'models'],
  ['HEAD /v1/models', 'models'],
  ['OPTIONS /v1/models', 'models-preflight'],
  ['GET /healthz', 'health'],
  ['HEAD /healthz', 'health'],
]);

/** `served`: the surfaces of this deployment. The path of another surface is like any unknown path. */
export function operationOf(
  { method, path }: Pick<RequestHead, 'method' | 'path'>,
  served: readonly Surface[],
): Operation {
  const [pathname = ''] = path.split('?', 1);
  const surface = method === 'POST' ? surfaceAt.get(pathname) : undefined;
  if (surface !== undefined && served.includes(surface)) return { kind: 'answer', dialect: dialects[surface] };
  // Clients of this format also request paths below it, such as `/v1/messages/count_tokens`.
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
  // A key may be sent, and `*` does not include its header (https://fetch.spec.whatwg.org/#cors-preflight-fetch).
  ['access-control-allow-headers', '*, authorization'],
  ['access-control-max-age', '86400'],
];

/** Pages of every origin may read the list of models. The list depends on the key. */
const catalog: Headers = [...json, ['access-control-allow-origin', '*'], ['vary', 'authorization, x-api-key']];

/** The services that answer everything except requests for an answer. */
export interface OtherServices extends AuthenticateOptions {
  readonly surfaces: readonly Surface[];
  /** The body of `GET /v1/models`, with only these models. */
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
      throw new Failure(
        'not_found',
        nothingAt(`${method} ${path.split('?', 1)[0]?.slice(0, maxShownPathLength)}`, services.surfaces),
      );
  }
}
