import type { Tool, ToolChoice } from '../../../core/request.ts';
import { type Citing, webSearchTool } from '../search-words.ts';
import { type WebSearchAsk, webSearchName } from '../../../core/web-search.ts';
import { present } from '../read-body.ts';
import { readDomains, readLocation } from '../search-fields.ts';
import { checkChoice, checkSearchName } from '../wire-fields.ts';
import type { MessagesBody } from './schema.ts';
import type { ClientToolAsk, FunctionTool, SearchTool, WireTool } from './tool-schema.ts';

type ToolsBody = Pick<MessagesBody, 'tools' | 'messages' | 'tool_choice'>;

/**
 * Reads the tools, and the web search, which becomes a function tool. Throws `web_search_name_reserved` when the caller also has a function of
 * that name (docs/reference/api.md §7.2).
 */
export function readTools(body: ToolsBody, citing: Citing) {
  const inEffect = toolsInEffect(body);
  const webSearch = findSearch(inEffect.tools);
  const tools = loadedTools(body, inEffect).map((tool): Tool =>
    isSearch(tool) ? webSearchTool(readSearch(tool), citing) : readFunction(tool),
  );
  return { tools, webSearch };
}

/** The web search among the tools, if any. Throws when there are two, or a function of its name. */
function findSearch(tools: readonly WireTool[]): WebSearchAsk | undefined {
  const [search, ...others] = tools.filter(isSearch);
  if (search === undefined) return undefined;
  const taken = tools.findIndex((tool) => !isSearch(tool) && tool.name === webSearchName);
  checkSearchName(others.length + 1, taken === -1 ? undefined : `tools[${taken}].name`);
  return readSearch(search);
}

/** Reads the choice among the tools. Throws `invalid_request` if the chosen tool is not one of the tools. */
export function readToolChoice(choice: MessagesBody['tool_choice'], tools: readonly Tool[]): ToolChoice | undefined {
  if (choice === undefined || choice === null) return undefined;
  if (choice.type === 'tool') return checkChoice({ name: choice.name }, tools);
  return checkChoice(choice.type === 'any' ? 'required' : choice.type, tools, { required: 'any' });
}

const isClientTool = (tool: WireTool): tool is ClientToolAsk => 'known' in tool;
const isSearch = (tool: WireTool): tool is SearchTool => !('input_schema' in tool) && !isClientTool(tool);

function readSearch(tool: SearchTool): WebSearchAsk {
  return {
    maxUses: tool.max_uses ?? undefined,
    domains: readDomains(tool.allowed_domains, tool.blocked_domains),
    location: readLocation(tool.user_location),
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

/** The tools that the conversation names: the client's own tool search found them, or the model has called them. */
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

/**
 * The tools of a body after the changes of all system turns: engines have one list of tools for the whole conversation. And the names
 * that system turns have added.
 */
function toolsInEffect({ tools, messages }: Pick<MessagesBody, 'tools' | 'messages'>) {
  const own: readonly WireTool[] = tools ?? [];
  const changes = messages.flatMap(({ role, content }) =>
    role !== 'system' || typeof content === 'string' ? [] : content.filter((block) => block.type !== 'text'),
  );
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
  // The latest definition of a name counts.
  const latest = new Map(defined.map((tool) => [tool.name, tool]));
  const all = [...own.filter(({ name }) => !latest.has(name)), ...latest.values()];
  return { tools: all.filter(({ name }) => !removed.has(name)), added };
}

/**
 * Leaves out deferred tools that nothing in the conversation has named yet, which keeps the prompt short. The client's own tool search
 * adds them when they are needed.
 */
function loadedTools(body: ToolsBody, { tools, added }: ReturnType<typeof toolsInEffect>): readonly WireTool[] {
  const isDeferred = (tool: WireTool): boolean => 'defer_loading' in tool && tool.defer_loading === true;
  if (!tools.some(isDeferred)) return tools;
  const forced = body.tool_choice?.type === 'tool' ? body.tool_choice.name : undefined;
  const named = namedIn(body.messages);
  return tools.filter(
    (tool) => !isDeferred(tool) || added.has(tool.name) || named.has(tool.name) || tool.name === forced,
  );
}
