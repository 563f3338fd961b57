import { z } from 'zod';
import { type SearchApi, withSites } from './search-api.ts';

const answer = z.object({
  results: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      content: z.string().nullish(),
      publishedDate: z.string().nullish(),
    }),
  ),
  /** Engines it asked that did not answer, each with the reason. */
  unresponsive_engines: z.array(z.unknown()).nullish(),
});

/**
 * A SearXNG instance, whose settings allow `json` among its formats.
 * https://docs.searxng.org/dev/search_api.html
 */
export function searxng(url: URL): SearchApi {
  return {
    name: 'searxng',
    url,
    // In the body and not in the path: an instance writes paths to its log.
    write: ({ query, domains }) => ({
      method: 'POST',
      path: `${url.pathname.replace(/\/$/, '')}/search`,
      contentType: 'application/x-www-form-urlencoded',
      body: new URLSearchParams({ q: withSites(query, domains), format: 'json' }).toString(),
    }),
    read: (value) => {
      const { data } = answer.safeParse(value);
      if (data === undefined) return undefined;
      // Nothing found because nobody answered is no result.
      if (data.results.length === 0 && (data.unresponsive_engines?.length ?? 0) > 0) return undefined;
      return data.results.map(({ url: page, title, content, publishedDate }) => ({
        ...{ url: page, title: title ?? '', text: content ?? '' },
        ...(publishedDate === undefined || publishedDate === null ? {} : { pageAge: publishedDate.slice(0, 10) }),
      }));
    },
  };
}
