import { Failure } from '../../core/failure.ts';
import type { Tool } from '../../core/request.ts';
import { type Citing, webSearchTool } from '../../core/search-words.ts';
import { type SearchDomains, type WebSearchAsk, webSearchName } from '../../core/web-search.ts';
import { present } from '../present.ts';
import type { FunctionTool, SearchTool, WireTool } from './tool-schema.ts';

/** The tools of a request as a model sees them, and what it says of its web search where it has one. */
export interface ReadTools {
  readonly tools: readonly Tool[];
  readonly webSearch?: WebSearchAsk;
}

const isSearch = (tool: WireTool): tool is SearchTool => !('input_schema' in tool);

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

function readFunction({ name, description, input_schema: parameters, strict }: FunctionTool): Tool {
  return { name, parameters, ...present({ description, strict }) };
}

/**
 * Reads the tools. The search becomes a function tool in its place. Throws `web_search_name_reserved` when the caller has a
 * function of that name besides (service specification §7.2).
 */
export function readTools(wire: readonly WireTool[], citing: Citing): ReadTools {
  const searches = wire.filter(isSearch).map(readSearch);
  const [webSearch] = searches;
  if (webSearch === undefined) return { tools: wire.flatMap((tool) => (isSearch(tool) ? [] : [readFunction(tool)])) };
  const named = wire.findIndex((tool) => !isSearch(tool) && tool.name === webSearchName);
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
