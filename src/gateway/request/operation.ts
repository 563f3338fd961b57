import {
  furtherPaths,
  hasFurtherPaths,
  kindOfSurface,
  maxShownPathLength,
  modelPath,
  nothingAt,
  pathsOf,
  type ServedApi,
  surfacesByKind,
} from '../../core/api-paths.ts';
import type { Credential } from '../../core/account.ts';
import { kindOfModel, type Model, type ModelList, modelNamed } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import { type Dialect, type Surface, surfaces } from '../../core/dialect.ts';
import type { Exchange, RequestHead } from '../../core/exchange.ts';
import type { Headers } from '../../core/headers.ts';
import { Failure } from '../../core/failure.ts';
import type { ModelPatterns } from '../../core/model-patterns.ts';
import type { Snapshots } from '../../control/catalog/snapshots.ts';
import type { AddressGate } from '../admission/address-gate.ts';
import { anyHeader, type AuthenticateOptions, listedModels } from '../admission/authenticate.ts';
import { identifyCaller } from '../admission/identify-caller.ts';
import { readModelName } from '../core/model-name.ts';
import { dialects } from '../dialects/dialects.ts';
import { notFoundText } from '../routing/plan.ts';

/** `unserved`: a path that has a meaning only while the catalog has a model of its kind. */
type Kind =
  | 'answer'
  | 'count-tokens'
  | 'key'
  | 'model'
  | 'models'
  | 'models-preflight'
  | 'health'
  | 'unserved'
  | 'unknown';

/** The operation that a request names by its method and path (docs/reference/endpoints.md §4). A query is ignored. */
export interface Operation {
  readonly kind: Kind;
  /** The format of its answer, and of its error. */
  readonly dialect: Dialect;
}

const surfaceAt: ReadonlyMap<string, Surface> = new Map(
  surfaces.flatMap((surface) => pathsOf(surface).map((path) => [path, surface])),
);

const kinds: ReadonlyMap<string, Kind> = new Map([
  ['GET /v1/models', 'models'],
  ['HEAD /v1/models', 'models'],
  ['OPTIONS /v1/models', 'models-preflight'],
  ['GET /healthz', 'health'],
  ['HEAD /healthz', 'health'],
]);

/** Stands for every path of a model. */
const anyModel = '/v1/models/{id}';

const furtherKinds: ReadonlyMap<string, Kind> = new Map([
  [`POST ${furtherPaths.countTokens}`, 'count-tokens'],
  [`GET ${furtherPaths.key}`, 'key'],
  [`HEAD ${furtherPaths.key}`, 'key'],
  [`GET ${anyModel}`, 'model'],
  [`HEAD ${anyModel}`, 'model'],
  [`OPTIONS ${anyModel}`, 'models-preflight'],
]);

/** A path that this deployment does not serve is like any unknown path. */
export function operationOf(
  { method, path }: Pick<RequestHead, 'method' | 'path'>,
  served: ServedApi & { readonly snapshots: Pick<Snapshots, 'current'> },
): Operation {
  const [pathname = ''] = path.split('?', 1);
  const surface = method === 'POST' ? surfaceAt.get(pathname) : undefined;
  if (surface !== undefined && isServed(surface, served)) return { kind: 'answer', dialect: dialects[surface] };
  if (surface !== undefined && byKind.has(surface)) return { kind: 'unserved', dialect: dialects[surface] };
  // Clients of this format also request paths below it, such as `/v1/messages/count_tokens`.
  const isMessages = /^\/v1\/messages(?:\/|$)/.test(pathname);
  const further = hasFurtherPaths(served) ? furtherKinds : undefined;
  return {
    kind:
      kinds.get(`${method} ${pathname}`) ??
      further?.get(`${method} ${pathname.replace(modelPath, anyModel)}`) ??
      'unknown',
    dialect: isMessages ? dialects.messages : dialects.chat,
  };
}

const byKind: ReadonlySet<Surface> = new Set(surfacesByKind);

function isServed(
  surface: Surface,
  { surfaces: served, snapshots }: ServedApi & { readonly snapshots: Pick<Snapshots, 'current'> },
): boolean {
  if (!byKind.has(surface)) return served.includes(surface);
  return snapshots
    .current()
    .models.values()
    .some((model) => kindOfModel(model) === kindOfSurface[surface]);
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
const openToPages: Headers = [
  ['access-control-allow-origin', '*'],
  ['vary', 'authorization, x-api-key'],
];
const catalog: Headers = [...json, ...openToPages];

/** The services that answer everything that needs no slot. */
export interface OtherServices extends AuthenticateOptions, ServedApi, ModelList {
  readonly clock: Clock;
  readonly gate: AddressGate;
  readonly snapshots: Pick<Snapshots, 'current'>;
  /** Whether `GET /v1/models` lists a model. Absent: it lists all. */
  readonly isListed?: (model: Model) => boolean;
  /** The answer to a key that asks about itself. */
  readonly showCredential: (credential: Credential, now: number) => { readonly balance: string };
}

/** Answers everything that needs no slot. Rejects with `not_found` when there is nothing at the path, in the service's own words. */
export async function replyOther(
  exchange: Exchange,
  kind: Exclude<Operation['kind'], 'answer' | 'count-tokens'>,
  services: OtherServices,
): Promise<void> {
  const { method, path } = exchange.head;
  switch (kind) {
    case 'key': {
      const { caller } = await identifyCaller(exchange.head, anyHeader, services);
      const shown = services.showCredential(caller.credential, services.clock.now());
      const balance = services.furtherPaths === 'with-balance' ? shown.balance : null;
      exchange.reply(200, [...json, ['cache-control', 'no-store']], JSON.stringify({ ...shown, balance }));
      return;
    }
    case 'model': {
      const models = await listedModels(exchange.head, services);
      exchange.reply(200, catalog, entryAt(path, models, services));
      return;
    }
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
    case 'unserved':
      // Envoy answers what is at no path, so it writes this answer, too.
      exchange.reply(404, [], '');
      return;
    case 'unknown':
      throw new Failure(
        'not_found',
        nothingAt(`${method} ${path.split('?', 1)[0]?.slice(0, maxShownPathLength)}`, services),
      );
  }
}

/**
 * The entry of the list of models that a path names, as requests name a model: in any case, also by an alias. Throws `not_found` if the
 * list does not have it.
 */
function entryAt(path: string, models: ModelPatterns | undefined, services: OtherServices): string {
  const [pathname = ''] = path.split('?', 1);
  const name = nameIn(modelPath.exec(pathname)?.[1] ?? '');
  const snapshot = services.snapshots.current();
  const id = modelNamed(snapshot, name)?.id;
  const entry = id === undefined ? undefined : services.modelEntry(id, models);
  if (entry !== undefined) return entry;
  const message = notFoundText(name, { snapshot, allowedModels: models, isListed: services.isListed });
  throw new Failure('not_found', message, { headers: openToPages });
}

/** The name of a model in a path. A text that is not well escaped, or has a suffix that is refused, stands for itself. */
function nameIn(escaped: string): string {
  try {
    return readModelName(decodeURIComponent(escaped));
  } catch {
    return escaped;
  }
}
