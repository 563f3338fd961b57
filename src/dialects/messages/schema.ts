import { z } from 'zod';
import { listOf } from '../first-fault.ts';
import { jsonObject } from '../json-object.ts';
import { assistantBlocks, systemBlocks, systemTurnBlocks, userBlocks } from './content-blocks.ts';
import { reasoningFields } from './read-reasoning.ts';
import { tool } from './tool-schema.ts';

/**
 * The messages request body (docs/reference/api.md §4.3). Unknown keys are dropped, never an error; null means absent, as some
 * clients send it.
 */
const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('user'), content: z.union([z.string(), userBlocks]) }),
  z.object({ role: z.literal('assistant'), content: z.union([z.string(), assistantBlocks]) }),
  z.object({
    role: z.literal('system'),
    // One that only changes settings of its turn has no content.
    content: z
      .union([z.string(), systemTurnBlocks])
      .nullish()
      .transform((content) => content ?? ''),
    clear_at: z.string().nullish().catch(null),
  }),
]);

const toolChoice = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['auto', 'any']), disable_parallel_tool_use: z.boolean().nullish() }),
  z.object({ type: z.literal('tool'), name: z.string().min(1), disable_parallel_tool_use: z.boolean().nullish() }),
  z.object({ type: z.literal('none') }),
]);

export const messagesBody = z.object({
  model: z.string().min(1),
  messages: listOf(message, { min: 1 }),
  max_tokens: z.int().min(1).max(1_000_000_000),
  system: z.union([z.string(), systemBlocks]).nullish(),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  stop_sequences: z.array(z.string().min(1)).max(16).nullish(),
  tools: listOf(tool, { max: 1024 }).nullish(),
  tool_choice: toolChoice.nullish(),
  // Under its earlier name, too.
  output_format: z.object({ type: z.literal('json_schema'), schema: jsonObject }).nullish(),
  ...reasoningFields,
});

export type MessagesBody = z.infer<typeof messagesBody>;
export type WireMessage = z.infer<typeof message>;
