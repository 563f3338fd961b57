import { z } from 'zod';
import type { UpstreamCall } from '../../core/upstream.ts';
import type { SearchDomains, SearchHit, SearchQuery } from '../../../core/web-search.ts';

/** A call of a provider's API. `path` includes the query of the URL, if any. */
interface SearchCall extends Pick<UpstreamCall, 'method' | 'path' | 'contentType' | 'headers'> {
  readonly body: string;
}

/** A provider's API: writes a search and reads its answer. Pure. */
export interface SearchApi {
  readonly name: string;
  readonly url: URL;
  /** `key` is empty for a provider without keys. */
  readonly write: (query: SearchQuery, key: string) => SearchCall;
  /**
   * Reads an answer, parsed from JSON. Returns undefined when it is no answer of this provider, or reports that the search failed.
   */
  readonly read: (value: unknown) => readonly SearchHit[] | undefined;
}

/** A text of a result. One of another type counts as missing: it must not take the result with it. */
export const resultText = z.string().nullish().catch(undefined);

/**
 * The results of an answer that can be read. One that cannot be read must not take the others with it; an answer with
 * none that can be read is not an answer of this provider.
 */
export function readableResults<T extends z.ZodType>(result: T) {
  return z.array(z.unknown()).transform((values, context): readonly z.output<T>[] => {
    const read = values.flatMap((value) => {
      const parsed = result.safeParse(value);
      return parsed.success ? [parsed.data] : [];
    });
    if (read.length > 0 || values.length === 0) return read;
    context.addIssue({ code: 'custom', message: 'expected a result that can be read' });
    return z.NEVER;
  });
}

/** Longest query with its operators, characters and words: Brave's limits, which are below the limits of the other providers. */
const maxCharacters = 400;
const maxWords = 50;

const isShort = (query: string): boolean => query.length <= maxCharacters && query.split(' ').length <= maxWords;

/**
 * Adds the sites to a query, in the operators that search engines share: `(site:a.example OR site:b.example)`, `-site:c.example`.
 * Sites that do not fit are left out: the hits are filtered in any case.
 */
export function withSites(query: string, domains: SearchDomains | undefined): string {
  const [first, ...others] = (domains?.names ?? []).map((name) => `site:${name.replace(/\/?\*$/, '')}`);
  if (first === undefined) return query;
  if (domains?.kind === 'allowed') {
    const whole = `${query} ${others.length === 0 ? first : `(${[first, ...others].join(' OR ')})`}`;
    // With only some of the allowed sites, the query would find nothing on the others.
    return isShort(whole) ? whole : query;
  }
  let text = query;
  for (const site of [first, ...others]) {
    const longer = `${text} -${site}`;
    if (!isShort(longer)) break;
    text = longer;
  }
  return text;
}
