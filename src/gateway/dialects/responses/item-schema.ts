import { z } from 'zod';
import { byType, listOf } from '../../../core/body-schema.ts';
import { isObject } from '../../../core/json.ts';
import { fileText } from '../file-text.ts';
import { orUnreadable, unreadable } from '../tool-result.ts';
import { imageUrl } from '../wire-fields.ts';
import { tool } from './tool-schema.ts';

/**
 * The items of a conversation. Fields that are not listed are dropped, and ids are not needed: nothing is stored under them. Items that
 * no open model can read are refused by name, so that no caller assumes that they were read.
 */
const inputText = z.object({ type: z.literal('input_text'), text: z.string() });

const notKept = 'files are not kept here: send the image as a data:image URL, or as an http(s) URL';
const inputImage = z.object({
  type: z.literal('input_image'),
  image_url: imageUrl(`expected the image in image_url: ${notKept}`),
  // `original` asks for more than engines know.
  detail: z
    .enum(['auto', 'low', 'high', 'original'])
    .nullish()
    .transform((detail) => (detail === 'original' ? 'high' : detail)),
});

const inputFile = z.object({
  type: z.literal('input_file'),
  filename: z.string().nullish(),
  file_data: fileText,
});

/** A citation of the service's own search has its sealed number. Others are dropped. */
const annotation = z.object({
  type: z.string(),
  end_index: z.int().min(0).nullish(),
  encrypted_index: z.string().nullish(),
});
const outputText = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: listOf(annotation).nullish(),
});
const refusal = z.object({ type: z.literal('refusal'), refusal: z.string() });

const noAudio = { input_audio: 'audio is not supported: send what is said as text' };
const inputParts = { input_text: inputText, input_image: inputImage, input_file: inputFile };
const ownContent = z.union([z.string(), listOf(byType(inputParts, { refused: noAudio }))]);
const systemContent = z.union([z.string(), listOf(byType({ input_text: inputText }))]);
const modelContent = z.union([
  z.string(),
  listOf(byType({ output_text: outputText, refusal, input_text: inputText }, { refused: noAudio })),
]);

const message = z.discriminatedUnion('role', [
  z.object({ type: z.literal('message'), role: z.literal('user'), content: ownContent }),
  z.object({ type: z.literal('message'), role: z.enum(['system', 'developer']), content: systemContent }),
  z.object({ type: z.literal('message'), role: z.literal('assistant'), content: modelContent }),
]);

/** Of the sealed copy, the content and the summary, the first that can be read counts. */
const reasoning = z.object({
  type: z.literal('reasoning'),
  summary: listOf(z.object({ text: z.string() })).nullish(),
  content: listOf(z.object({ text: z.string() })).nullish(),
  encrypted_content: z.string().nullish(),
});

const callId = z.string().min(1);
const functionCall = z.object({
  type: z.literal('function_call'),
  call_id: callId,
  name: z.string().min(1),
  namespace: z.string().nullish(),
  arguments: z.string(),
});
const customCall = z.object({
  type: z.literal('custom_tool_call'),
  call_id: callId,
  name: z.string().min(1),
  namespace: z.string().nullish(),
  input: z.string(),
});
const resultPart = byType(
  { input_text: inputText, input_image: orUnreadable(inputImage), input_file: orUnreadable(inputFile) },
  { rest: unreadable },
);
const output = z.union([z.string(), listOf(resultPart)]);
/** A result that another agent hands over names its tool, and no call. */
const resultFields = { call_id: callId.nullish(), name: z.string().nullish(), namespace: z.string().nullish(), output };
const functionOutput = z.object({ type: z.literal('function_call_output'), ...resultFields });
const customOutput = z.object({ type: z.literal('custom_tool_call_output'), ...resultFields });
/** Tools that a client adds in the course of a conversation. */
const additionalTools = z.object({ type: z.literal('additional_tools'), tools: listOf(tool) });

/** A search of the service. Its sources carry their sealed text; a search without one is left out. */
const searchCall = z.object({
  type: z.literal('web_search_call'),
  id: z.string().nullish(),
  status: z.string().nullish(),
  action: z
    .object({
      query: z.string().nullish(),
      sources: listOf(z.object({ encrypted_content: z.string().nullish() })).nullish(),
    })
    .nullish(),
});

const notRun = 'items of tools that this service does not run are not supported';
const asFunction = 'this tool is not offered here: send its call and its result as those of a function';
const notStored = 'nothing is stored here: send the item itself, as with store: false';
const notShortened =
  'conversations that another service has shortened are not supported: send the summary as a message, or the items themselves';

const typed = byType(
  {
    message,
    reasoning,
    function_call: functionCall,
    function_call_output: functionOutput,
    custom_tool_call: customCall,
    custom_tool_call_output: customOutput,
    web_search_call: searchCall,
    additional_tools: additionalTools,
  },
  {
    refused: {
      item_reference: notStored,
      compaction: notShortened,
      compaction_trigger: notShortened,
      file_search_call: notRun,
      code_interpreter_call: notRun,
      image_generation_call: notRun,
      mcp_list_tools: notRun,
      mcp_approval_request: notRun,
      mcp_approval_response: notRun,
      mcp_call: notRun,
      tool_search_call: notRun,
      tool_search_output: notRun,
      program: notRun,
      program_output: notRun,
      configuration_update: 'send the configuration in the fields of the request',
      computer_call: asFunction,
      computer_call_output: asFunction,
      local_shell_call: asFunction,
      local_shell_call_output: asFunction,
      shell_call: asFunction,
      shell_call_output: asFunction,
      apply_patch_call: asFunction,
      apply_patch_call_output: asFunction,
    },
  },
);

/** An item without a type is a message, or a reference if it has nothing but an id. */
function withType(value: unknown): unknown {
  if (!isObject(value) || (value['type'] ?? undefined) !== undefined) return value;
  return { ...value, type: 'role' in value ? 'message' : 'id' in value ? 'item_reference' : undefined };
}

export const item = z.preprocess(withType, typed);

export type WireItem = z.output<typeof typed>;
export type ItemOf<Type extends WireItem['type']> = Extract<WireItem, { readonly type: Type }>;
export type ResultPart = Exclude<ItemOf<'function_call_output'>['output'], string>[number];
export type InputPart = Exclude<ResultPart, { readonly type: 'unreadable' }>;
