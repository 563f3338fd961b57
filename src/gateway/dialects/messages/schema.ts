import { z } from 'zod';
import { byType, jsonObject, jsonSchema, listOf } from '../../../core/body-schema.ts';
import { messagesFields } from '../parameter-fields.ts';
import { orUnreadable, unreadable } from '../tool-result.ts';
import { count, maxTools } from '../wire-fields.ts';
import { reasoningFields } from './read-reasoning.ts';
import { tool } from './tool-schema.ts';
import { citations, searchCall, searchResult } from './search-blocks.ts';

/**
 * The blocks of a conversation (docs/reference/engines.md §2). Fields that are not listed, such as `cache_control`, are dropped.
 * Blocks that no open model can read are refused by name, so that no caller assumes that they were read. Inside a tool result, a
 * description replaces them.
 */
const text = z.object({ type: z.literal('text'), text: z.string() });

const base64Image = z.object({
  type: z.literal('base64'),
  media_type: z.string().regex(/^image\/[\w.+-]+$/i, 'expected an image type such as image/png'),
  data: z.string().min(1),
});
const linkedImage = z.object({
  type: z.literal('url'),
  url: z.string().regex(/^https?:\/\//i, 'expected an http(s) URL'),
});

const image = z.object({
  type: z.literal('image'),
  source: byType(
    { base64: base64Image, url: linkedImage },
    { refused: { file: 'files are not kept here: send the image as base64 or as a URL' } },
  ),
});

const plainDocument = z.object({ type: z.literal('text'), data: z.string() });
const blocksDocument = z.object({
  type: z.literal('content'),
  content: z.union([z.string(), listOf(byType({ text, image }))]),
});

const notText =
  'only documents whose text is in the request are read: send it with a source of type text or content, or the pages as images';

/** A document whose text is in the request. Models are never asked to cite it. */
const document = z.object({
  type: z.literal('document'),
  title: z.string().nullish(),
  context: z.string().nullish(),
  source: byType(
    { text: plainDocument, content: blocksDocument },
    { refused: { base64: notText, url: notText, file: notText } },
  ),
});

/** A page that the client's own search found. */
const searchResultPage = z.object({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: listOf(text),
});

/** A tool that the client's own tool search found. The model may call it from now on. */
const toolReference = z.object({ type: z.literal('tool_reference'), tool_name: z.string().min(1) });

const resultBlock = byType(
  {
    text,
    tool_reference: toolReference,
    image: orUnreadable(image),
    document: orUnreadable(document),
    search_result: orUnreadable(searchResultPage),
  },
  { rest: unreadable },
);

const toolResult = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string().min(1),
  content: z.union([z.string(), listOf(resultBlock)]).nullish(),
  is_error: z.boolean().nullish(),
});

const toolUse = z.object({
  type: z.literal('tool_use'),
  id: z.string().min(1),
  name: z.string().min(1),
  input: jsonObject,
});

/** The signature of thinking is not checked, because it proves nothing here. */
const thinking = z.object({ type: z.literal('thinking'), thinking: z.string() });
/** The sealed state of an engine. Another vendor's is dropped, because only that vendor can read it. */
const redactedThinking = z.object({ type: z.literal('redacted_thinking'), data: z.string().nullish().catch(null) });
/** Dropped. Marks the place where another service continued with another model. */
const fallback = z.object({ type: z.literal('fallback') });

const citedText = text.extend({ citations: citations.nullish() });

const notRunHere = 'blocks of tools that this service does not run are not supported';
const notKeptHere = 'files are not kept here: send their content as text or images';
const notShortenedHere =
  'conversations that another service has shortened are not supported: send the summary as text, or the turns themselves';
const notServedHere = 'tools of MCP servers are not run here: send them as functions';

/** The tools that a system turn adds or removes for the turns that follow. */
const toolByName = z.object({ type: z.literal('tool_reference'), name: z.string().min(1) });
const toolDefinition = z.object({ type: z.literal('tool_definition'), definition: tool });
const notServed = { refused: { mcp_tool_reference: notServedHere, mcp_toolset_reference: notServedHere } };
const toolAddition = z.object({
  type: z.literal('tool_addition'),
  tool: byType({ tool_reference: toolByName, tool_definition: toolDefinition }, notServed),
});
const toolRemoval = z.object({
  type: z.literal('tool_removal'),
  tool: byType({ tool_reference: toolByName }, notServed),
});

const systemBlocks = listOf(byType({ text }));
const systemTurnBlocks = listOf(byType({ text, tool_addition: toolAddition, tool_removal: toolRemoval }));
const userBlocks = listOf(
  byType(
    { text, image, document, search_result: searchResultPage, tool_result: toolResult },
    { refused: { container_upload: notKeptHere } },
  ),
  { min: 1 },
);
const assistantBlocks = listOf(
  byType(
    {
      text: citedText,
      thinking,
      redacted_thinking: redactedThinking,
      tool_use: toolUse,
      server_tool_use: searchCall,
      web_search_tool_result: searchResult,
      fallback,
    },
    {
      refused: {
        mcp_tool_use: notRunHere,
        mcp_tool_result: notRunHere,
        mcp_tool_listing: notRunHere,
        web_fetch_tool_result: notRunHere,
        tool_search_tool_result: notRunHere,
        code_execution_tool_result: notRunHere,
        bash_code_execution_tool_result: notRunHere,
        text_editor_code_execution_tool_result: notRunHere,
        advisor_tool_result: notRunHere,
        container_upload: notKeptHere,
        compaction: notShortenedHere,
      },
    },
  ),
);

/**
 * The messages request body (docs/reference/endpoints.md §4.3). Unknown keys are dropped and never an error. Null means absent, as some
 * clients send it.
 */
const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('user'), content: z.union([z.string(), userBlocks]) }),
  z.object({ role: z.literal('assistant'), content: z.union([z.string(), assistantBlocks]) }),
  z.object({
    role: z.literal('system'),
    // A system turn that only changes settings has no content.
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
  max_tokens: count,
  system: z.union([z.string(), systemBlocks]).nullish(),
  stream: z.boolean().nullish(),
  ...messagesFields,
  tools: listOf(tool, { max: maxTools }).nullish(),
  tool_choice: toolChoice.nullish(),
  // The earlier name of output_config.format.
  output_format: z.object({ type: z.literal('json_schema'), schema: jsonSchema }).nullish(),
  ...reasoningFields,
});

/** A body whose prompt is only counted. */
export const countBody = messagesBody.partial({ max_tokens: true });

export type MessagesBody = z.infer<typeof countBody>;
export type WireMessage = z.infer<typeof message>;
export type UserBlock = z.infer<typeof userBlocks>[number];
export type AssistantBlock = z.infer<typeof assistantBlocks>[number];
export type ToolResultBlock = z.infer<typeof toolResult>;
export type ResultBlock = z.infer<typeof resultBlock>;
export type ImageBlock = z.infer<typeof image>;
export type DocumentBlock = z.infer<typeof document>;
export type SearchResultPage = z.infer<typeof searchResultPage>;
