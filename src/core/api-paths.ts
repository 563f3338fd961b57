import { type Surface, surfaces } from './dialect.ts';

/** The path of each surface. All take POST only (docs/reference/api.md §4). */
export const answerPaths: Readonly<Record<Surface, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

/** The surfaces that every deployment serves. */
export const usualSurfaces = ['chat', 'messages'] as const satisfies readonly Surface[];

/** The surfaces that a deployment serves. */
export const servedSurfaces = ({
  WEIR_RESPONSES,
}: {
  readonly WEIR_RESPONSES: 'off' | 'stateless';
}): readonly Surface[] => (WEIR_RESPONSES === 'off' ? usualSurfaces : surfaces);

/** The message for a path and method that the API does not have. It lists everything that it has. */
export function nothingAt(asked: string, served: readonly Surface[]): string {
  const paths = served.map((surface) => `POST ${answerPaths[surface]}`).join(', ');
  return `There is nothing at ${asked}. The API has ${paths}, GET /v1/models and GET /healthz.`;
}

/** Longest path that a message repeats whole, characters. */
export const maxShownPathLength = 100;
