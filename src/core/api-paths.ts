import type { ModelKind } from './catalog.ts';
import { chatSurfaces, type Surface } from './dialect.ts';

/** The path of each surface. All take POST only (docs/reference/endpoints.md §4). */
export const answerPaths: Readonly<Record<Surface, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
  rerank: '/v1/rerank',
};

/** Further paths of a surface. Cohere's newer clients write `/v2` themselves. */
const otherAnswerPaths: Readonly<Partial<Record<Surface, string>>> = { rerank: '/v2/rerank' };

export const pathsOf = (surface: Surface): readonly string[] =>
  [answerPaths[surface], otherAnswerPaths[surface]].filter((path) => path !== undefined);

/** The kind of the models that answer a surface. */
export const kindOfSurface: Readonly<Record<Surface, ModelKind>> = {
  chat: 'chat',
  messages: 'chat',
  responses: 'chat',
  embeddings: 'embedding',
  rerank: 'rerank',
};

/**
 * Surfaces that are served while the catalog has a model of their kind. Without one they are like any unknown path: so Envoy hands
 * their requests to the service, which knows the catalog.
 */
export const surfacesByKind = ['embeddings', 'rerank'] as const satisfies readonly Surface[];

/** Paths that an operator may switch on (docs/reference/endpoints.md §4.4). */
export const furtherPaths = { key: '/v1/key', countTokens: '/v1/messages/count_tokens' } as const;

/** The path of an entry of the list of models. Ids have slashes, which may be escaped. */
export const modelPath = /^\/v1\/models\/(.+)$/;

/** The surfaces that every deployment serves. */
export const usualSurfaces = ['chat', 'messages'] as const satisfies readonly Surface[];

/** Whether the further paths are served. `with-balance`: a key also gets the balance of its workspace. */
export const furtherPathsModes = ['off', 'on', 'with-balance'] as const;

/** Paths that a deployment serves besides the list of models, the liveness check and `surfacesByKind`. */
export interface ServedApi {
  readonly surfaces: readonly Surface[];
  /** Absent: they are off. */
  readonly furtherPaths?: (typeof furtherPathsModes)[number] | undefined;
}

/** The surfaces of chat that a deployment serves. */
export const servedSurfaces = ({
  WEIR_RESPONSES,
}: {
  readonly WEIR_RESPONSES: 'off' | 'stateless';
}): readonly Surface[] => (WEIR_RESPONSES === 'off' ? usualSurfaces : chatSurfaces);

export const hasFurtherPaths = ({ furtherPaths: mode = 'off' }: ServedApi): boolean => mode !== 'off';

/** The message for a path and method that the API does not have. It lists everything that it has. */
export function nothingAt(asked: string, served: ServedApi): string {
  const paths = served.surfaces.map((surface) => `POST ${answerPaths[surface]}`);
  const further = [`POST ${furtherPaths.countTokens}`, `GET ${furtherPaths.key}`, 'GET /v1/models/{id}'];
  const all = [...paths, ...(hasFurtherPaths(served) ? further : []), 'GET /v1/models'].join(', ');
  return `There is nothing at ${asked}. The API has ${all} and GET /healthz.`;
}

/** Longest path that a message repeats whole, characters. */
export const maxShownPathLength = 100;
