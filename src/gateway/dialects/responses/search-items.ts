import { isObject, parseJson } from '../../../core/json.ts';
import { Failure, fieldPath } from '../../../core/failure.ts';
import type { Citation, SealOrigin, SearchResult, SearchSeal, Source } from '../../../core/web-search.ts';
import { citeMark, type Citing, writeSearchError, writeSources } from '../search-words.ts';
import type { ItemOf } from './item-schema.ts';

/**
 * The items of a web search: written into an answer, and read when a client sends it back. The format has a place for the addresses
 * of what was found. The sealed text goes along in fields of its own, which clients that keep whole items send back.
 */

/** The action of a search's item, as JSON. */
export function writeAction(input: string, result: SearchResult | undefined): string {
  const asked = parseJson(input);
  const query = isObject(asked) && typeof asked['query'] === 'string' ? asked['query'] : '';
  const sources =
    result?.kind === 'found'
      ? result.sources.map(({ url, title, sealed }) => ({ type: 'url', url, title, encrypted_content: sealed }))
      : [];
  return JSON.stringify({ type: 'search', query, queries: [query], sources });
}

/** The annotation of a cited text, as JSON. Its indexes count UTF-16 units from the beginning of the part. */
export const writeCitation = (
  { url, title, sealed }: Citation,
  { start, end }: { readonly start: number; readonly end: number },
): string =>
  JSON.stringify({ type: 'url_citation', start_index: start, end_index: end, url, title, encrypted_index: sealed });

type OutputText = Extract<
  Exclude<Extract<ItemOf<'message'>, { readonly role: 'assistant' }>['content'], string>[number],
  { readonly type: 'output_text' }
>;

/** Reads the sealed parts of a conversation as the text that the model had read and written. */
export type SearchItemReader = ReturnType<typeof createSearchItemReader>;

/**
 * Refuses a token that a key of this deployment sealed and that does not open any more. Other tokens that do not open are
 * left out: a conversation goes on here that has begun elsewhere.
 */
export function refuseDamaged(token: string, { isOurs }: SealOrigin, path: readonly PropertyKey[]): undefined {
  if (!isOurs(token)) return undefined;
  throw new Failure('invalid_request', `${fieldPath(path)}: expected it as this service gave it`);
}

/** What another deployment has sealed is left out. Throws `invalid_request` for what was sealed here and is damaged. */
export function createSearchItemReader(seal: SearchSeal | undefined, citing: Citing) {
  /** Sources by number, so that a source that was sent many times is kept once. */
  const opened = new Map<number, Source>();
  return {
    /** Everything that was opened. */
    sources: (): readonly Source[] => [...opened.values()],
    /** The words that the model read of a search. Undefined: the client did not keep what was found, or it was sealed elsewhere. */
    resultText: ({ status, action }: ItemOf<'web_search_call'>, path: readonly PropertyKey[]): string | undefined => {
      if (status === 'failed') return writeSearchError('unavailable');
      const tokens = (action?.sources ?? []).map(({ encrypted_content: token }) => token ?? undefined);
      const sources = tokens.flatMap((token, at) => {
        if (token === undefined || seal === undefined) return [];
        const field = [...path, 'action', 'sources', at, 'encrypted_content'];
        return seal.openSource(token) ?? refuseDamaged(token, seal, field) ?? [];
      });
      if (sources.length === 0 && tokens.length > 0) return undefined;
      for (const source of sources) opened.set(source.number, source);
      return action?.sources ? writeSources(sources, citing) : undefined;
    },
    /** A text with the marks by which the model had cited. */
    citedText: ({ text, annotations }: OutputText, path: readonly PropertyKey[]): string => {
      if (citing === 'none' || seal === undefined) return text;
      const marks = new Map<number, string>();
      for (const [at, { end_index: end, encrypted_index: token }] of (annotations ?? []).entries()) {
        const field = [...path, 'annotations', at, 'encrypted_index'];
        const number =
          typeof token === 'string' ? (seal.openNumber(token) ?? refuseDamaged(token, seal, field)) : undefined;
        if (number === undefined || typeof end !== 'number' || end > text.length) continue;
        marks.set(end, (marks.get(end) ?? ' ') + citeMark(number));
      }
      const places = [...marks].sort(([a], [b]) => a - b);
      // One pass: a text may be long, and have many citations.
      const pieces = places.map(([end, mark], at) => text.slice(places[at - 1]?.[0] ?? 0, end) + mark);
      return pieces.join('') + text.slice(places.at(-1)?.[0] ?? 0);
    },
  };
}
