import { z } from 'zod';
import { Failure, fieldPath } from '../../../core/failure.ts';
import { citeMark, type Citing, writeSearchError, writeSources } from '../search-words.ts';
import {
  type Citation,
  searchErrors,
  type SearchResult,
  type SearchSeal,
  type Source,
  webSearchName,
} from '../../../core/web-search.ts';
import { jsonObject, listOf } from '../../../core/body-schema.ts';

/** The blocks of a web search: written into an answer, and read when a client sends it back (docs/reference/engines.md §2, "Web search blocks"). */

/** The type of a citation of a web search's source. */
const citationType = 'web_search_result_location';

/** The beginning of a search's block: JSON without the input and the closing brace. */
export const writeSearchCall = (id: string): string =>
  JSON.stringify({ type: 'server_tool_use', id, name: webSearchName }).slice(0, -1);

/** The block of a search's result. A failed search is part of a successful answer. */
export function writeSearchResult(id: string, result: SearchResult): string {
  const content =
    result.kind === 'error'
      ? { type: 'web_search_tool_result_error', error_code: result.code }
      : result.sources.map(({ url, title, sealed, pageAge = null }) => ({
          type: 'web_search_result',
          url,
          title,
          encrypted_content: sealed,
          page_age: pageAge,
        }));
  return JSON.stringify({ type: 'web_search_tool_result', tool_use_id: id, content });
}

export const writeCitation = ({ url, title, citedText, sealed }: Citation): string =>
  JSON.stringify({ type: citationType, url, title, encrypted_index: sealed, cited_text: citedText });

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

/**
 * The citations of a text. A citation of a web search must have its index. Other citations, such as those of documents, are
 * dropped.
 */
export const citations = listOf(
  z
    .object({ type: z.string(), encrypted_index: z.string().nullish() })
    .refine(({ type, encrypted_index: index }) => type !== citationType || typeof index === 'string', {
      path: ['encrypted_index'],
      message: 'expected string, received undefined',
    }),
);

type Path = readonly PropertyKey[];

/** Reads the sealed blocks of a conversation as the text that the model had read and written. */
export type SearchReader = ReturnType<typeof createSearchReader>;

/**
 * Without a `seal`, reading a sealed block throws `web_search_unavailable`. A block that was forged, changed or sealed by another
 * deployment throws `invalid_request`. Either message names the field.
 */
export function createSearchReader(seal: SearchSeal | undefined, citing: Citing) {
  /** Sources by number, so that a source that was sent many times is kept once. */
  const opened = new Map<number, Source>();

  function refuse(path: Path): never {
    if (seal === undefined) {
      const why = 'cannot be read: web search is not enabled on this deployment';
      throw new Failure('web_search_unavailable', `${fieldPath(path)}: ${why}`);
    }
    throw new Failure('invalid_request', `${fieldPath(path)}: expected it as this service gave it`);
  }

  return {
    /** All sources that were opened so far. */
    sources: (): readonly Source[] => [...opened.values()],
    /** The result as the model reads it. */
    resultText: ({ content }: z.infer<typeof searchResult>, path: Path): string => {
      if (!Array.isArray(content)) {
        const { error_code: code } = content;
        return writeSearchError(searchErrors.find((known) => known === code) ?? 'unavailable');
      }
      const sources = content.map(
        ({ encrypted_content: token }, at) =>
          seal?.openSource(token) ?? refuse([...path, 'content', at, 'encrypted_content']),
      );
      for (const source of sources) opened.set(source.number, source);
      return writeSources(sources, citing);
    },
    /** The citation marks that the model had written after a text. */
    marksOf: (cited: z.infer<typeof citations>, path: Path): string => {
      const numbers = cited.flatMap(({ type, encrypted_index: token }, at) => {
        if (type !== citationType) return [];
        return seal?.openNumber(token ?? '') ?? refuse([...path, 'citations', at, 'encrypted_index']);
      });
      return citing === 'none' || numbers.length === 0 ? '' : ` ${[...new Set(numbers)].map(citeMark).join('')}`;
    },
  };
}
