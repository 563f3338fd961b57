import { z } from 'zod';
import { byType } from '../by-type.ts';
import { listOf } from '../first-fault.ts';
import { jsonObject } from '../json-object.ts';
import { citations, searchCall, searchResult } from './search-history.ts';
import { tool } from './tool-schema.ts';

/**
 * Blocks of a conversation (docs/reference/engines.md §2). Fields that are not listed, such as `cache_control`, are dropped. What no
 * open model can take is refused by name, so that nobody thinks that it was read; inside the result of a tool it is put in words.
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

/** Documents whose text is in the request. Citations of them are off: a model is not asked for any. */
const document = z.object({
  ...{ type: z.literal('document'), title: z.string().nullish(), context: z.string().nullish() },
  source: byType(
    { text: plainDocument, content: blocksDocument },
    { refused: { base64: notText, url: notText, file: notText } },
  ),
});

const searchFinding = z.object({
  ...{ type: z.literal('search_result'), source: z.string(), title: z.string() },
  content: listOf(text),
});

/** A tool that the model may call from now on: what a client's own tool search found. */
const toolReference = z.object({ type: z.literal('tool_reference'), tool_name: z.string().min(1) });

/**
 * A block of a tool's result that no model here can read. It stays in the conversation for good, so that refusing it would
 * refuse every turn that follows: the model is told what it was.
 */
const unreadable = z
  .object({
    type: z.string().min(1),
    title: z.string().nullish().catch(null),
    source: z
      .object({ media_type: z.string().nullish().catch(null) })
      .nullish()
      .catch(null),
  })
  .transform(({ type, title, source }) => ({
    ...{
      type: 'unreadable' as const,
      was: type,
      title: title ?? undefined,
      mediaType: source?.media_type ?? undefined,
    },
  }));

const orUnreadable = <T extends z.ZodType>(schema: T) => z.union([schema, unreadable]);

const resultBlock = byType(
  {
    ...{ text, tool_reference: toolReference },
    ...{ image: orUnreadable(image), document: orUnreadable(document), search_result: orUnreadable(searchFinding) },
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

/** Any signature will do: there is nothing that it could prove. */
const thinking = z.object({ type: z.literal('thinking'), thinking: z.string() });
/** Only who wrote it could read it. It says nothing to an open model. */
const redactedThinking = z.object({ type: z.literal('redacted_thinking') });
/** Where another service has gone on with another model. It says nothing to a model. */
const fallback = z.object({ type: z.literal('fallback') });

const citedText = text.extend({ citations: citations.nullish() });

const notRunHere = 'blocks of tools that this service does not run are not supported';
const notKeptHere = 'files are not kept here: send their content as text or images';
const notShortenedHere =
  'conversations that another service has shortened are not supported: send the summary as text, or the turns themselves';
const notServedHere = 'tools of MCP servers are not run here: send them as functions';

/** The tools that a system turn adds or takes away, for the turns that follow. */
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

export const systemBlocks = listOf(byType({ text }));
export const systemTurnBlocks = listOf(byType({ text, tool_addition: toolAddition, tool_removal: toolRemoval }));
export const userBlocks = listOf(
  byType(
    { text, image, document, search_result: searchFinding, tool_result: toolResult },
    { refused: { container_upload: notKeptHere } },
  ),
  { min: 1 },
);
export const assistantBlocks = listOf(
  byType(
    {
      ...{ text: citedText, thinking, redacted_thinking: redactedThinking, tool_use: toolUse },
      ...{ server_tool_use: searchCall, web_search_tool_result: searchResult, fallback },
    },
    {
      refused: {
        ...{ mcp_tool_use: notRunHere, mcp_tool_result: notRunHere, web_fetch_tool_result: notRunHere },
        ...{ tool_search_tool_result: notRunHere, code_execution_tool_result: notRunHere },
        ...{ bash_code_execution_tool_result: notRunHere, text_editor_code_execution_tool_result: notRunHere },
        ...{ advisor_tool_result: notRunHere, mcp_tool_listing: notRunHere },
        ...{ container_upload: notKeptHere, compaction: notShortenedHere },
      },
    },
  ),
);

export type UserBlock = z.infer<typeof userBlocks>[number];
export type AssistantBlock = z.infer<typeof assistantBlocks>[number];
export type ToolResultBlock = z.infer<typeof toolResult>;
export type ResultBlock = z.infer<typeof resultBlock>;
export type ImageBlock = z.infer<typeof image>;
export type DocumentBlock = z.infer<typeof document>;
export type SearchFindingBlock = z.infer<typeof searchFinding>;
