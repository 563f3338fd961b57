import { z } from 'zod';
import { readableResults, resultText, type SearchApi } from './search-api.ts';

const answer = z.object({
  results: readableResults(
    z.object({
      url: z.string(),
      title: resultText,
      content: resultText,
      published_date: resultText,
    }),
  ),
});

/** Most sites of a search. */
const maxIncluded = 300;
const maxExcluded = 150;

const countryNames = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

/** The country by its English name in lower case, as the API wants it. */
const countryOf = (code: string | undefined): string | undefined =>
  code === undefined ? undefined : countryNames.of(code)?.toLowerCase();

const hostsOf = (names: readonly string[]): readonly string[] => [
  ...new Set(names.map((name) => name.replace(/\/.*$/, ''))),
];

/** Tavily. https://docs.tavily.com/documentation/api-reference/endpoint/search */
export function tavily(): SearchApi {
  return {
    name: 'tavily',
    url: new URL('https://api.tavily.com/search'),
    write: ({ query, domains, location }, key) => {
      const { kind, names = [] } = domains ?? {};
      // The API takes hosts without paths. Hits below other paths are filtered out afterwards.
      const included = hostsOf(names);
      const excluded = hostsOf(names.filter((name) => /^[^/]*\/?\*?$/.test(name)));
      return {
        path: '/search',
        headers: [['authorization', `Bearer ${key}`]],
        body: JSON.stringify({
          query,
          search_depth: 'basic',
          max_results: 20,
          include_domains: kind === 'allowed' && included.length <= maxIncluded ? included : undefined,
          exclude_domains: kind === 'blocked' && excluded.length > 0 ? excluded.slice(0, maxExcluded) : undefined,
          country: countryOf(location?.country),
        }),
      };
    },
    read: (value) =>
      answer.safeParse(value).data?.results.map(({ url, title, content, published_date: date }) => ({
        url,
        title: title ?? '',
        text: content ?? '',
        pageAge: date ?? undefined,
      })),
  };
}
