import { z } from 'zod';
import { byType, listOf } from '../../../core/body-schema.ts';
import { fileText } from '../file-text.ts';
import { chatFields } from '../parameter-fields.ts';
import { orUnreadable, unreadable } from '../tool-result.ts';
import { count, formatFields, functionFields, imageUrl, maxTools, toolName } from '../wire-fields.ts';
import { reasoningFields } from './read-reasoning.ts';
import { imageDetails, toolChoiceWords } from '../../../core/request.ts';

/**
 * The chat completions request body (docs/reference/endpoints.md §4.1). Unknown keys are dropped and never an error. Null means absent,
 * because official clients send it for absent fields. Ranges are those of the public wire format.
 */
const textPart = z.object({ type: z.literal('text'), text: z.string() });
const url = imageUrl();

const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.union([url, z.object({ url, detail: z.enum(imageDetails).nullish() })]),
});
const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });

/** A file whose text is in the request. `file_data` is read from a `data:text/…` URL. */
const filePart = z.object({
  type: z.literal('file'),
  file: z.object({
    filename: z.string().nullish(),
    file_data: fileText,
  }),
});

const resultPart = byType(
  { text: textPart, image_url: orUnreadable(imagePart), file: orUnreadable(filePart) },
  { rest: unreadable },
);

const refusedParts = { input_audio: 'audio is not supported: send what is said as text' };

const textContent = z.union([z.string(), listOf(byType({ text: textPart }))]);
const resultContent = z.union([z.string(), listOf(resultPart)]);
const userContent = z.union([
  z.string(),
  listOf(byType({ text: textPart, image_url: imagePart, file: filePart }, { refused: refusedParts }), { min: 1 }),
]);
const assistantContent = z.union([z.string(), listOf(byType({ text: textPart, refusal: refusalPart }))]);

const functionCall = z.object({ name: z.string().min(1), arguments: z.string() });

const functionToolCall = z.object({
  id: z.string().min(1),
  type: z.literal('function').nullish(),
  function: functionCall,
});
const customToolCall = z.object({
  id: z.string().min(1),
  type: z.literal('custom'),
  custom: z.object({ name: z.string().min(1), input: z.string() }),
});
/** Some clients leave out the type of a function's call. */
const toolCall = byType({ custom: customToolCall }, { rest: functionToolCall });

const message = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer']), content: textContent, name: z.string().nullish() }),
  z.object({ role: z.literal('user'), content: userContent, name: z.string().nullish() }),
  z.object({
    role: z.literal('assistant'),
    content: assistantContent.nullish(),
    refusal: z.string().nullish(),
    name: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    reasoning: z.string().nullish(),
    // An earlier answer as sound, by its id.
    audio: z.null('nothing is stored here: send what was said as text in content').optional(),
    // The engine's state. Other gateways have more parts in it, which only they can read.
    reasoning_details: z.array(z.unknown()).nullish().catch(null),
    tool_calls: listOf(toolCall).nullish(),
    function_call: functionCall.nullish(),
  }),
  z.object({ role: z.literal('tool'), tool_call_id: z.string().min(1), content: resultContent }),
  z.object({ role: z.literal('function'), name: z.string().min(1), content: resultContent.nullish() }),
]);

const functionTool = z.object({ type: z.literal('function'), function: z.object(functionFields) });
const customTool = z.object({
  type: z.literal('custom'),
  custom: z.object({
    name: toolName,
    description: z.string().nullish(),
    format: z.object({ type: z.literal('text', 'expected text: no engine here can be held to a grammar') }).nullish(),
  }),
});

const tool = byType({ function: functionTool, custom: customTool });

const named = z.object({ name: z.string().min(1) });
const namedTools = {
  function: z.object({ type: z.literal('function'), function: named }),
  custom: z.object({ type: z.literal('custom'), custom: named }),
};
const namedTool = byType(namedTools);

const toolChoice = z.union([
  z.enum(toolChoiceWords),
  byType({
    ...namedTools,
    allowed_tools: z.object({
      type: z.literal('allowed_tools'),
      allowed_tools: z.object({
        mode: z.enum(['auto', 'required']),
        tools: listOf(namedTool, { min: 1, max: maxTools }),
      }),
    }),
  }),
]);

const responseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({ type: z.literal('json_schema'), json_schema: z.object(formatFields) }),
]);

export const chatBody = z.object({
  model: z.string().min(1),
  messages: listOf(message, { min: 1 }),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: count.nullish(),
  max_completion_tokens: count.nullish(),
  ...chatFields,
  tools: listOf(tool, { max: maxTools }).nullish(),
  tool_choice: toolChoice.nullish(),
  // The first version of tools, under its old names.
  functions: listOf(z.object(functionFields), { max: maxTools }).nullish(),
  function_call: z.union([z.enum(['auto', 'none']), named]).nullish(),
  response_format: responseFormat.nullish(),
  ...reasoningFields,
});

export type ChatBody = z.infer<typeof chatBody>;
export type ChatMessage = z.infer<typeof message>;
