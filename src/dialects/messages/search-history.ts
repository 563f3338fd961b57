import { z } from 'zod';
import { webSearchName } from '../../core/web-search.ts';
import { listOf } from '../first-fault.ts';
import { jsonObject } from '../json-object.ts';

/** What a web search left in a conversation, as it is sent back (docs/reference/engines.md §2, "Web search blocks"). */
export const searchCall = z.object({
  type: z.literal('server_tool_use'),
  id: z.string().min(1),
  name: z.literal(webSearchName, 'expected web_search: other tools are not run here'),
  input: jsonObject,
});

const found = z.object({ type: z.literal('web_search_result'), encrypted_content: z.string() });
const failed = z.object({ type: z.literal('web_search_tool_result_error'), error_code: z.string() });

export const searchResult = z.object({
  type: z.literal('web_search_tool_result'),
  tool_use_id: z.string().min(1),
  content: z.union([listOf(found), failed]),
});

/** Of other citations, of documents for one, nothing is kept: they are of blocks that are not read here. */
export const citations = listOf(
  z
    .object({ type: z.string(), encrypted_index: z.string().nullish() })
    .refine(({ type, encrypted_index: index }) => type !== citationType || typeof index === 'string', {
      path: ['encrypted_index'],
      message: 'expected string, received undefined',
    }),
);

/** The citations that a web search makes. */
export const citationType = 'web_search_result_location';

export type SearchResultBlock = z.infer<typeof searchResult>;
export type WireCitation = z.infer<typeof citations>[number];
