import { type Citation, type SearchResult, webSearchName } from '../../core/web-search.ts';

/** A search as its block begins: JSON, without the input and the brace that ends it. */
export const writeSearchCall = (id: string): string =>
  JSON.stringify({ type: 'server_tool_use', id, name: webSearchName }).slice(0, -1);

/** What a search brought, whole: an error is part of a good answer (docs/reference/engines.md §2). */
export function writeSearchResult(id: string, result: SearchResult): string {
  const content =
    result.kind === 'error'
      ? { type: 'web_search_tool_result_error', error_code: result.code }
      : result.sources.map(({ url, title, sealed, pageAge = null }) => ({
          ...{ type: 'web_search_result', url, title, encrypted_content: sealed, page_age: pageAge },
        }));
  return JSON.stringify({ type: 'web_search_tool_result', tool_use_id: id, content });
}

export const writeCitation = ({ url, title, citedText, sealed }: Citation): string =>
  JSON.stringify({
    ...{ type: 'web_search_result_location', url, title, encrypted_index: sealed, cited_text: citedText },
  });
