import { z } from 'zod';
import { isObject } from '../../../core/json.ts';
import { webSearchName } from '../../../core/web-search.ts';
import { converted, jsonSchema, reportIssues } from '../../../core/body-schema.ts';
import { sites, userLocation } from '../search-fields.ts';
import { toolName } from '../wire-fields.ts';
import { type ClientTool, clientToolOf } from './client-tools.ts';

/** A deferred tool is hidden from the model until the conversation names it. */
const deferring = { defer_loading: z.boolean().nullish() };

const functionTool = z.object({
  ...deferring,
  type: z.literal('custom').nullish(),
  name: toolName,
  description: z.string().nullish(),
  input_schema: jsonSchema,
  strict: z.boolean().nullish(),
});

const side = z.int().min(1).max(100_000);

/** A tool that the client runs, which has a known type (client-tools.ts). */
const clientTool = z.object({
  ...deferring,
  type: z.string(),
  name: z.string().min(1),
  display_width_px: side.nullish(),
  display_height_px: side.nullish(),
  enable_zoom: z.boolean().nullish(),
});

/** The web search of any version: `web_search_20250305` and later ones have the same fields (docs/reference/engines.md §2). */
const searchTool = z
  .object({
    type: z.string(),
    name: z.literal(webSearchName),
    max_uses: z.int().min(1).nullish(),
    allowed_domains: sites.nullish(),
    blocked_domains: sites.nullish(),
    user_location: userLocation.nullish(),
  })
  .refine(({ allowed_domains: allowed, blocked_domains: blocked }) => !allowed?.length || !blocked?.length, {
    path: ['blocked_domains'],
    message: 'expected either allowed_domains or blocked_domains, not both',
  });

const typeOf = (value: unknown): string | undefined =>
  isObject(value) && typeof value['type'] === 'string' ? value['type'] : undefined;

/** Reads a tool that is not one of the caller's functions. Returns undefined for an unknown type. */
function readTyped(type: string, value: unknown) {
  if (/^web_search_\d{8}$/.test(type)) return searchTool.safeParse(value);
  const known = clientToolOf(type);
  if (known !== undefined) {
    const wanted = z.literal(known.name, `expected ${known.name} with type ${type}`);
    return clientTool
      .extend({ name: wanted })
      .transform((tool) => ({ ...tool, known: tool.enable_zoom === true ? (known.zooming ?? known) : known }))
      .safeParse(value);
  }
  return undefined;
}

/** Why an unknown type is refused. */
function refusalOf(type: string): string {
  // Calls of a toolset's tools also name the toolset, so a function cannot replace such a tool.
  if (/^[a-z]+_toolset_\d{8}$/.test(type))
    return `${type} is a set of tools that is not offered here: send its tools as functions`;
  if (/_\d{8}$|^mcp_toolset$|^tool_search_tool_/.test(type))
    return `${type} is a tool that the service would run, and it is not offered here`;
  return 'expected custom, web_search_<date>, or a tool that the client runs: bash, text_editor, memory or computer with its date';
}

/** A tool, read by its type. A union would report the issues of another kind of tool instead. */
export const tool = converted(z.unknown(), (value, issues): FunctionTool | SearchTool | ClientToolAsk => {
  const type = typeOf(value);
  const isOwn = type === undefined || type === 'custom';
  const read = isOwn ? functionTool.safeParse(value) : readTyped(type, value);
  if (read === undefined) {
    issues.push({ code: 'custom', input: value, path: ['type'], message: refusalOf(type ?? '') });
    return z.NEVER;
  }
  if (read.success) return read.data;
  reportIssues(read.error, issues);
  return z.NEVER;
});

export type FunctionTool = z.infer<typeof functionTool>;
export type SearchTool = z.infer<typeof searchTool>;
export type ClientToolAsk = z.infer<typeof clientTool> & { readonly known: ClientTool };
export type WireTool = z.infer<typeof tool>;
