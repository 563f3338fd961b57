import { Failure, fieldPath } from '../../../core/failure.ts';
import type { CallFormat, NamespacedTool, Tool, ToolChoice } from '../../../core/request.ts';
import { type WebSearchAsk, webSearchName } from '../../../core/web-search.ts';
import { customTool } from '../custom-tools.ts';
import { present } from '../read-body.ts';
import { readDomains, readLocation } from '../search-fields.ts';
import { type Citing, webSearchTool } from '../search-words.ts';
import type { ResponsesBody } from './schema.ts';
import { maxTools, type ResponsesTool, type SingleTool, type WireCustom, type WireSearch } from './tool-schema.ts';

type ToolsBody = Pick<ResponsesBody, 'tools' | 'tool_choice' | 'max_tool_calls'>;

/** The tools of a request as the model gets them, and its web search, if any. */
interface ReadTools {
  readonly tools: readonly Tool[];
  readonly webSearch: WebSearchAsk | undefined;
  readonly toolChoice: ToolChoice | undefined;
  readonly callFormat: CallFormat | undefined;
}

/** The name under which a model is shown a tool of a namespace. */
export const shownName = ({ namespace, name }: NamespacedTool): string => `${namespace}__${name}`;

/** A tool by itself. */
interface Offered {
  readonly tool: SingleTool;
  readonly name: string;
  readonly own: NamespacedTool | undefined;
  /** Its place in the body. */
  readonly path: readonly PropertyKey[];
}

/** Engines have one list of tools, so a namespace becomes a part of the names. A web search that must not leave the service finds nothing. */
function offeredTools(tools: readonly ResponsesTool[]): readonly Offered[] {
  return tools.flatMap((tool, at): readonly Offered[] => {
    const path = ['tools', at];
    switch (tool.type) {
      case 'web_search':
        return isOffline(tool) ? [] : [{ tool, name: webSearchName, own: undefined, path }];
      case 'namespace':
        return tool.tools.map((inner, place) => {
          const own = { namespace: tool.name, name: inner.name };
          return { tool: inner, name: shownName(own), own, path: [...path, 'tools', place] };
        });
      case 'function':
      case 'custom':
        return [{ tool, name: tool.name, own: undefined, path }];
    }
  });
}

const isOffline = (tool: WireSearch): boolean => tool.external_web_access === false;

/** Whether the caller has a web search that finds nothing here. */
export const hasOfflineSearch = ({ tools }: Pick<ResponsesBody, 'tools'>): boolean =>
  (tools ?? []).some((tool) => tool.type === 'web_search' && isOffline(tool));

/**
 * Reads the tools and the choice among them. Throws `invalid_request` with the path of the first invalid field, or
 * `web_search_name_reserved` when the caller also has a tool of that name (docs/reference/api.md §7.2).
 */
export function readTools(body: ToolsBody, citing: Citing): ReadTools {
  const all = offeredTools(body.tools ?? []);
  if (all.length > maxTools) {
    throw new Failure('invalid_request', `tools: expected at most ${maxTools}, those of namespaces included`);
  }
  checkNames(all);
  const allowed = allowedOf(all, body.tool_choice);
  const search = allowed.map(({ tool }) => tool).find((tool) => tool.type === 'web_search');
  const tools = allowed.map(({ tool, name }) => readTool(tool, { name, body, citing }));
  return {
    tools,
    webSearch: search && readSearch(search, body),
    toolChoice: readChoice(body.tool_choice, tools),
    callFormat: readFormat(allowed),
  };
}

function readFormat(offered: readonly Offered[]): CallFormat | undefined {
  const customTools = offered.flatMap(({ tool, name }) => (tool.type === 'custom' ? [name] : []));
  const namespaced = offered.flatMap(({ own, name }) => (own === undefined ? [] : [[name, own] as const]));
  if (customTools.length === 0 && namespaced.length === 0) return undefined;
  return { customTools, functionCall: false, namespaced: Object.fromEntries(namespaced) };
}

/** A call names its tool only, so that no two searches, and no search and tool, may have the same name. */
function checkNames(offered: readonly Offered[]): void {
  const searches = offered.filter(({ tool }) => tool.type === 'web_search');
  if (searches.length === 0) return;
  const taken = offered.find(({ tool, name }) => tool.type !== 'web_search' && name === webSearchName);
  if (taken !== undefined) {
    throw new Failure(
      'web_search_name_reserved',
      `${fieldPath([...taken.path, 'name'])}: ${webSearchName} is the name of the web search that is among the tools`,
    );
  }
  if (searches.length > 1) throw new Failure('invalid_request', 'tools: expected the web search once');
}

/** The tools that may be called. Throws `invalid_request` for a name that no tool has. */
function allowedOf(offered: readonly Offered[], choice: ToolsBody['tool_choice']): readonly Offered[] {
  if (typeof choice !== 'object' || choice?.type !== 'allowed_tools') return offered;
  const allowed = choice.tools.map((asked, at) => {
    const found = offered.filter(({ name, own }) =>
      asked.type === 'namespace' ? own?.namespace === asked.name : name === asked.name,
    );
    if (found.length > 0) return found;
    const field = fieldPath(['tool_choice', 'tools', at]);
    throw new Failure('invalid_request', `${field}: expected the name of one of the tools`);
  });
  const names = new Set(allowed.flat());
  return offered.filter((one) => names.has(one));
}

interface ReadingTool {
  readonly name: string;
  readonly body: ToolsBody;
  readonly citing: Citing;
}

function readTool(tool: SingleTool, { name, body, citing }: ReadingTool): Tool {
  switch (tool.type) {
    case 'web_search':
      return webSearchTool(readSearch(tool, body), citing);
    case 'custom':
      return customTool({ name, description: describe(tool) });
    case 'function': {
      const { description, parameters, strict } = tool;
      return { name, ...present({ description, parameters, strict }) };
    }
  }
}

const syntaxes = { lark: 'this Lark grammar', regex: 'this regular expression' } as const;

/** Engines cannot be held to the grammar of a tool's text, so the model reads it in the description. */
function describe({ description, format }: WireCustom): string | null {
  if (format?.type !== 'grammar') return description ?? null;
  const rule = `The text must match ${syntaxes[format.syntax]}:\n\n${format.definition}`;
  return description ? `${description}\n\n${rule}` : rule;
}

/** Of all tools, only the web search is a call that the service itself makes. */
function readSearch({ filters, user_location: location }: WireSearch, body: ToolsBody): WebSearchAsk {
  return {
    maxUses: body.max_tool_calls ?? undefined,
    domains: readDomains(filters?.allowed_domains, filters?.blocked_domains),
    location: readLocation(location),
  };
}

function readChoice(choice: ToolsBody['tool_choice'], tools: readonly Tool[]): ToolChoice | undefined {
  if (choice === undefined || choice === null) return undefined;
  if (typeof choice === 'string') {
    if (choice === 'required' && tools.length === 0) {
      throw new Failure('invalid_request', 'tool_choice: "required" needs at least one entry in tools');
    }
    return tools.length === 0 ? undefined : choice;
  }
  if (choice.type === 'allowed_tools') return choice.mode;
  const { name } = choice;
  if (!tools.some((tool) => tool.name === name)) {
    throw new Failure('invalid_request', 'tool_choice.name: expected the name of one of the tools');
  }
  return { name };
}
