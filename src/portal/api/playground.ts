import { z } from 'zod';
import { workspaceId } from './values.ts';

/**
 * `POST /playground/chat?workspace=…` has the same body as the gateway's `POST /v1/chat/completions`. The portal adds a
 * key of its own or the caller's, and passes the body and the answer on unchanged.
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
});

export const playgroundBody = z
  .looseObject({ model: z.string(), messages: z.array(z.unknown()) })
  .meta({ id: 'ChatRequest', description: 'A chat completion, as in docs/reference/api.md §2.' });
