import { Failure } from '../../core/failure.ts';
import type { Tool } from '../../core/request.ts';
import { type Citing, webSearchTool } from '../search-words.ts';
import { type SearchDomains, type WebSearchAsk, webSearchName } from '../../core/web-search.ts';
import { present } from '../present.ts';
import type { MessagesBody } from './schema.ts';
import type { ClientToolAsk, FunctionTool, SearchTool, WireTool } from './tool-schema.ts';

/** The tools of a request as a model sees them, and what it says of its web search where it has one. */
export interface ReadTools {
  readonly tools: readonly Tool[];
  readonly webSearch?: WebSearchAsk;
}

const isClientTool = (tool: WireTool): tool is ClientToolAsk => 'known' in tool;
const isSearch = (tool: WireTool): tool is SearchTool => !('input_schema' in tool) && !isClientTool(tool);

function domainsOf({ allowed_domains: allowed, blocked_domains: blocked }: SearchTool): SearchDomains | undefined {
  if (allowed?.length) return { kind: 'allowed', names: allowed };
  return blocked?.length ? { kind: 'blocked', names: blocked } : undefined;
}

function readSearch(tool: SearchTool): WebSearchAsk {
  const { max_uses: maxUses, user_location: location } = tool;
  const { city, region, country, timezone } = location ?? {};
  const place = present({ city, region, country: country?.toUpperCase(), timezone });
  return {
    ...present({ maxUses, domains: domainsOf(tool) }),
    ...(Object.keys(place).length === 0 ? {} : { location: place }),
  };
}

function readClientTool({ known, display_width_px: width, display_height_px: height }: ClientToolAsk): Tool {
  const { name, description, schema: parameters } = known;
  const screen = width && height ? ` The screen has ${width} by ${height} pixels.` : '';
  return { name, description: description + screen, parameters };
}

function readFunction(tool: FunctionTool | ClientToolAsk): Tool {
  if (isClientTool(tool)) return readClientTool(tool);
  const { name, description, input_schema: parameters, strict } = tool;
  return { name, parameters, ...present({ description, strict }) };
}

/** Names that the conversation has brought up: a search of the client's found them, or the model has called them. */
function namedIn(messages: MessagesBody['messages']): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { content } of messages) {
    if (typeof content === 'string') continue;
    for (const block of content) {
      if (block.type === 'tool_use') names.add(block.name);
      if (block.type !== 'tool_result' || typeof block.content === 'string') continue;
      for (const part of block.content ?? []) if (part.type === 'tool_reference') names.add(part.tool_name);
    }
  }
  return names;
}

/** The tools of a body at the end of its conversation, and the names that system turns have brought up. */
interface ToolsInEffect {
  readonly tools: readonly WireTool[];
  readonly added: ReadonlySet<string>;
}

/** Engines have one list of tools for the whole conversation: what system turns have added and taken away is done to that. */
function toolsInEffect({ tools, messages }: Pick<MessagesBody, 'tools' | 'messages'>): ToolsInEffect {
  const own = tools ?? [];
  const changes = messages.flatMap(({ role, content }) =>
    role !== 'system' || typeof content === 'string' ? [] : content.filter((block) => block.type !== 'text'),
  );
  if (changes.length === 0) return { tools: own, added: new Set() };
  const defined: WireTool[] = [];
  const added = new Set<string>();
  const removed = new Set<string>();
  for (const { type, tool } of changes) {
    const name = tool.type === 'tool_definition' ? tool.definition.name : tool.name;
    if (tool.type === 'tool_definition') defined.push(tool.definition);
    const [into, outOf] = type === 'tool_addition' ? [added, removed] : [removed, added];
    into.add(name);
    outOf.delete(name);
  }
  // Of two definitions of one name the later one counts.
  const latest = new Map(defined.map((tool) => [tool.name, tool]));
  const all = [...own.filter(({ name }) => !latest.has(name)), ...latest.values()];
  return { tools: all.filter(({ name }) => !removed.has(name)), added };
}

/**
 * The tools that a model is shown: all but those that wait to be found. One that nothing in the conversation has named yet is left
 * out, which keeps the prompt short; the client's own tool search brings it in.
 */
function shown(body: Pick<MessagesBody, 'tools' | 'messages' | 'tool_choice'>): readonly WireTool[] {
  const { tools, added } = toolsInEffect(body);
  const waits = (tool: WireTool): boolean => 'defer_loading' in tool && tool.defer_loading === true;
  if (!tools.some(waits)) return tools;
  const forced = body.tool_choice?.type === 'tool' ? body.tool_choice.name : undefined;
  const named = namedIn(body.messages);
  return tools.filter((tool) => !waits(tool) || added.has(tool.name) || named.has(tool.name) || tool.name === forced);
}

/**
 * Reads the tools. The search becomes a function tool in its place. Throws `web_search_name_reserved` when the caller has a
 * function of that name besides (docs/reference/api.md §7.2).
 */
export function readTools(body: Pick<MessagesBody, 'tools' | 'messages' | 'tool_choice'>, citing: Citing): ReadTools {
  const all = toolsInEffect(body).tools;
  const searches = all.filter(isSearch).map(readSearch);
  const [webSearch] = searches;
  const wire = shown(body);
  if (webSearch === undefined) return { tools: wire.flatMap((tool) => (isSearch(tool) ? [] : [readFunction(tool)])) };
  const named = all.findIndex((tool) => !isSearch(tool) && tool.name === webSearchName);
  if (named !== -1) {
    throw new Failure(
      'web_search_name_reserved',
      `tools[${named}].name: ${webSearchName} is the name of the web search that is among the tools`,
    );
  }
  if (searches.length > 1) throw new Failure('invalid_request', 'tools: expected the web search once');
  return {
    webSearch,
    tools: wire.map((tool) => (isSearch(tool) ? webSearchTool(webSearch, citing) : readFunction(tool))),
  };
}
