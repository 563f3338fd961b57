import { z } from 'zod';
import { readableResults, resultText, type SearchApi, withSites } from './search-api.ts';

const answer = z.object({
  results: readableResults(
    z.object({
      url: z.string(),
      title: resultText,
      content: resultText,
      publishedDate: resultText,
    }),
  ),
  /** The engines that did not answer, each with the reason. */
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
    // The query is in the body because instances write paths to their logs.
    write: ({ query, domains }) => ({
      path: `${url.pathname.replace(/\/$/, '')}/search`,
      contentType: 'application/x-www-form-urlencoded',
      body: new URLSearchParams({ q: withSites(query, domains), format: 'json' }).toString(),
    }),
    read: (value) => {
      const { data } = answer.safeParse(value);
      if (data === undefined) return undefined;
      // If there are no hits because no engine answered, the search has failed.
      if (data.results.length === 0 && (data.unresponsive_engines?.length ?? 0) > 0) return undefined;
      return data.results.map(({ url: page, title, content, publishedDate }) => ({
        url: page,
        title: title ?? '',
        text: content ?? '',
        pageAge: publishedDate?.slice(0, 10),
      }));
    },
  };
}
