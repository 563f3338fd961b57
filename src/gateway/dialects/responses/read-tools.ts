import { Failure, fieldPath } from '../../../core/failure.ts';
import type { CallFormat, NamespacedTool, Tool, ToolChoice } from '../../../core/request.ts';
import { type WebSearchAsk, webSearchName } from '../../../core/web-search.ts';
import { customTool } from '../custom-tools.ts';
import { readDomains, readLocation } from '../search-fields.ts';
import { type Citing, webSearchTool } from '../search-words.ts';
import { checkChoice, checkSearchName, maxTools, readFunction } from '../wire-fields.ts';
import type { ResponsesBody } from './schema.ts';
import type { ResponsesTool, SingleTool, WireCustom, WireSearch } from './tool-schema.ts';

type ToolsBody = Pick<ResponsesBody, 'tools' | 'tool_choice' | 'max_tool_calls' | 'input'>;

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

/** The tools of a body and those that items of its conversation add. Of the tools of one name the last one counts. */
function allTools({ tools, input }: ToolsBody): readonly Offered[] {
  const added =
    typeof input === 'string'
      ? []
      : input.flatMap((item, at) =>
          item.type === 'additional_tools' ? offeredTools(item.tools, ['input', at, 'tools']) : [],
        );
  const own = offeredTools(tools ?? [], ['tools']);
  const names = new Set(added.map(({ name }) => name));
  const latest = added.filter(({ name }, at) => added.findLastIndex((one) => one.name === name) === at);
  return [...own.filter(({ name }) => !names.has(name)), ...latest];
}

/** Engines have one list of tools, so a namespace becomes a part of the names. A web search that must not leave the service finds nothing. */
function offeredTools(tools: readonly ResponsesTool[], list: readonly PropertyKey[]): readonly Offered[] {
  return tools.flatMap((tool, at): readonly Offered[] => {
    const path = [...list, at];
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
 * Reads the tools as the model gets them, the choice among them, and the web search, if any. Throws `invalid_request` with the path of the first invalid field, or
 * `web_search_name_reserved` when the caller also has a tool of that name (docs/reference/api.md §7.2).
 */
export function readTools(body: ToolsBody, citing: Citing) {
  const all = allTools(body);
  if (all.length > maxTools) {
    throw new Failure('invalid_request', `tools: expected at most ${maxTools}, those of namespaces included`);
  }
  const taken = all.find(({ tool, name }) => tool.type !== 'web_search' && name === webSearchName);
  checkSearchName(
    all.filter(({ tool }) => tool.type === 'web_search').length,
    taken && fieldPath([...taken.path, 'name']),
  );
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
    case 'function':
      return readFunction({ ...tool, name });
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
  if (typeof choice === 'object' && choice.type === 'allowed_tools') return choice.mode;
  return checkChoice(typeof choice === 'string' ? choice : { name: choice.name }, tools);
}
