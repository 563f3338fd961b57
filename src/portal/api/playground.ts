import { z } from 'zod';
import { workspaceId } from './values.ts';

/**
 * `POST /playground/chat?workspace=…`: the body is that of the gateway's own `POST /v1/chat/completions` and reaches it untouched; so
 * does its answer on the way back. The portal adds a key of its own.
 */
export const playgroundQuery = z.object({
  workspace: workspaceId.meta({ description: 'Id of the workspace that pays.' }),
});

export const playgroundBody = z
  .looseObject({ model: z.string(), messages: z.array(z.unknown()) })
  .meta({ id: 'ChatRequest', description: 'A chat completion as docs/reference/api.md §2 has it.' });
