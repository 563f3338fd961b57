import { z } from 'zod';
import { listOf } from '../../../core/body-schema.ts';
import { chatFields } from '../parameter-fields.ts';
import { count, formatFields, maxTools } from '../wire-fields.ts';
import { item } from './item-schema.ts';
import { reasoningFields } from './read-reasoning.ts';
import { tool, toolChoice } from './tool-schema.ts';

/** The optional parameters that this format has, under the same names as on the chat surface. */
const { temperature, top_p, top_logprobs, parallel_tool_calls } = chatFields;

const format = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({ type: z.literal('json_schema'), ...formatFields }),
]);

/** The request body of this format. Unknown keys are dropped and never an error. Null means absent, because clients send it for absent fields. */
export const responsesBody = z.object({
  model: z.string().min(1),
  input: z.union([z.string(), listOf(item, { min: 1 })]),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  store: z.boolean().nullish(),
  truncation: z.string().nullish(),
  max_output_tokens: count.nullish(),
  max_tool_calls: count.nullish(),
  temperature,
  top_p,
  top_logprobs,
  parallel_tool_calls,
  include: listOf(z.string()).nullish(),
  text: z.object({ format: format.nullish(), verbosity: z.string().nullish() }).nullish(),
  tools: listOf(tool, { max: maxTools }).nullish(),
  tool_choice: toolChoice.nullish(),
  ...reasoningFields,
});

export type ResponsesBody = z.output<typeof responsesBody>;
