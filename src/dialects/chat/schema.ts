import { z } from 'zod';
import { listOf, recordOf } from '../first-fault.ts';
import { jsonObject } from '../json-object.ts';
import { reasoningFields } from './read-reasoning.ts';

/**
 * The chat completions request body (service specification §4.1). Unknown keys are dropped, never an error; null means
 * absent, as official clients send it. Ranges are those of the public wire format.
 */
const count = z.int().min(1).max(1_000_000_000);

const textPart = z.object({ type: z.literal('text'), text: z.string() });
/** `https://…`, `http://…` or `data:image/…`: what engines can be handed. */
const imageUrl = z.string().regex(/^(?:https?:\/\/|data:image\/)/i, 'expected an http(s) URL or a data:image URL');

const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.union([imageUrl, z.object({ url: imageUrl, detail: z.enum(['auto', 'low', 'high']).nullish() })]),
});
const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });

const textContent = z.union([z.string(), listOf(textPart)]);
const userContent = z.union([z.string(), listOf(z.discriminatedUnion('type', [textPart, imagePart]), { min: 1 })]);
const assistantContent = z.union([z.string(), listOf(z.discriminatedUnion('type', [textPart, refusalPart]))]);

const toolCall = z.object({
  id: z.string().min(1),
  type: z.literal('function').nullish(),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
});

const message = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer']), content: textContent, name: z.string().nullish() }),
  z.object({ role: z.literal('user'), content: userContent, name: z.string().nullish() }),
  z.object({
    role: z.literal('assistant'),
    content: assistantContent.nullish(),
    name: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    reasoning: z.string().nullish(),
    tool_calls: listOf(toolCall).nullish(),
  }),
  z.object({ role: z.literal('tool'), tool_call_id: z.string().min(1), content: textContent }),
]);

const tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string().regex(/^[\w.:-]{1,128}$/, 'expected 1 to 128 letters, digits, or any of _ - . :'),
    description: z.string().nullish(),
    parameters: jsonObject.nullish(),
    strict: z.boolean().nullish(),
  }),
});

const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.object({ type: z.literal('function'), function: z.object({ name: z.string().min(1) }) }),
]);

const responseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    json_schema: z.object({
      name: z.string().min(1).max(64),
      description: z.string().nullish(),
      schema: jsonObject.nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
]);

export const chatBody = z.object({
  model: z.string().min(1),
  messages: listOf(message, { min: 1 }),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: count.nullish(),
  max_completion_tokens: count.nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  n: z.int().min(1).max(128).nullish(),
  stop: z.union([z.string().min(1), z.array(z.string().min(1)).max(4)]).nullish(),
  seed: z.int().nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  logit_bias: recordOf(z.number().min(-100).max(100)).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  top_k: z.int().min(-1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  repetition_penalty: z.number().gt(0).max(10).nullish(),
  top_a: z.number().min(0).max(1).nullish(),
  tools: listOf(tool, { max: 1024 }).nullish(),
  tool_choice: toolChoice.nullish(),
  response_format: responseFormat.nullish(),
  ...reasoningFields,
});

export type ChatBody = z.infer<typeof chatBody>;
export type ChatMessage = z.infer<typeof message>;
