import { z } from 'zod';
import { workspaceId } from './values.ts';

/**
 * `POST /playground/chat?workspace=…` has the same body as the gateway's `POST /v1/chat/completions`, and
 * `/playground/embeddings` that of `POST /v1/embeddings`. The portal adds a key of its own or the caller's, and passes the
 * body and the answer on unchanged.
 */
export const playgroundQuery = z.object({
  workspace: workspaceId.meta({ description: 'Id of the workspace that pays.' }),
});

export const playgroundHeaders = z.object({
  'playground-key': z
    .string()
    .min(1)
    .max(200)
    .regex(/^[\x21-\x7e]+$/)
    .optional()
    .meta({ description: 'An API key to use instead of the portal’s own. Its workspace pays.' }),
  'playground-request-id': z
    .string()
    .regex(/^[\w-]{1,64}$/)
    .optional()
    .meta({
      description:
        'Sent to the gateway as `x-request-id`, by which `GET /requests/{id}` finds the request. Proxies replace a header of that name.',
    }),
});

export const playgroundBody = z
  .looseObject({ model: z.string(), messages: z.array(z.unknown()) })
  .meta({ id: 'ChatRequest', description: 'A chat completion, as in docs/reference/api.md §2.' });

export const playgroundTexts = z
  .looseObject({ model: z.string(), input: z.union([z.string(), z.array(z.string())]) })
  .meta({ id: 'EmbeddingRequest', description: 'Texts for an embedding model, as in docs/how-to/embeddings.md.' });
