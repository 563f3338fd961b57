import { z } from 'zod';
import { listOf } from '../first-fault.ts';
import { jsonObject } from '../json-object.ts';
import { citations, searchCall, searchResult } from './search-history.ts';

/**
 * Blocks of a conversation (engines.md §2). Fields that are not listed, such as `cache_control`, are dropped. What no
 * open model can take is refused by name, so that nobody thinks that it was read.
 */
const text = z.object({ type: z.literal('text'), text: z.string() });

const image = z.object({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.object({
      type: z.literal('base64'),
      media_type: z.string().regex(/^image\/[\w.+-]+$/i, 'expected an image type such as image/png'),
      data: z.string().min(1),
    }),
    z.object({ type: z.literal('url'), url: z.string().regex(/^https?:\/\//i, 'expected an http(s) URL') }),
    refused(['file'], 'files are not kept here: send the image as base64 or as a URL'),
  ]),
});

const unread = refused(
  ['document', 'search_result', 'container_upload'],
  'documents and files are not supported: send their content as text or images',
);

const unserved = refused(
  [
    ...(['mcp_tool_use', 'mcp_tool_result', 'web_fetch_tool_result', 'tool_search_tool_result'] as const),
    ...(['code_execution_tool_result', 'bash_code_execution_tool_result'] as const),
    ...(['text_editor_code_execution_tool_result', 'compaction'] as const),
  ],
  'blocks of tools that this service does not run are not supported',
);

const toolResult = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string().min(1),
  content: z.union([z.string(), listOf(z.discriminatedUnion('type', [text, image, unread]))]).nullish(),
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

const citedText = text.extend({ citations: citations.nullish() });

export const systemBlocks = listOf(text);
export const userBlocks = listOf(z.discriminatedUnion('type', [text, image, toolResult, unread]), { min: 1 });
export const assistantBlocks = listOf(
  z.discriminatedUnion('type', [citedText, thinking, redactedThinking, toolUse, searchCall, searchResult, unserved]),
);

export type UserBlock = z.infer<typeof userBlocks>[number];
export type AssistantBlock = z.infer<typeof assistantBlocks>[number];
export type ToolResultBlock = z.infer<typeof toolResult>;
export type ImageBlock = z.infer<typeof image>;

/** A block of one of these types, never good: the message says why. */
function refused<const T extends readonly [string, ...string[]]>(types: T, message: string) {
  return z
    .object({ type: z.enum(types) })
    .refine(() => false, { path: ['type'], message })
    .transform((): never => z.NEVER);
}
