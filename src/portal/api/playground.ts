import { z } from 'zod';
import { workspaceId } from './values.ts';

/**
 * `POST /playground/chat?workspace=…` has the same body as the gateway's `POST /v1/chat/completions`. The portal adds a
 * key of its own, and passes the body and the answer on unchanged.
 */
export const playgroundQuery = z.object({
  workspace: workspaceId.meta({ description: 'Id of the workspace that pays.' }),
});

export const playgroundBody = z
  .looseObject({ model: z.string(), messages: z.array(z.unknown()) })
  .meta({ id: 'ChatRequest', description: 'A chat completion, as in docs/reference/api.md §2.' });
