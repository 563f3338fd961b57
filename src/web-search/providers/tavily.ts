import { z } from 'zod';
import type { SearchApi } from './search-api.ts';

const answer = z.object({
  results: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      content: z.string().nullish(),
      published_date: z.string().nullish(),
    }),
  ),
});

/** Most sites it takes. */
const maxIncluded = 300;
const maxExcluded = 150;

const countryNames = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

/** It wants the English name, lowercase. */
function countryOf(code: string | undefined): { readonly country?: string } {
  const name = code === undefined ? undefined : countryNames.of(code);
  return name === undefined ? {} : { country: name.toLowerCase() };
}

/** Tavily. https://docs.tavily.com/documentation/api-reference/endpoint/search */
export function tavily(): SearchApi {
  return {
    name: 'tavily',
    url: new URL('https://api.tavily.com/search'),
    write: ({ query, domains, location }, key) => {
      // It knows sites, not paths; what is below another path is filtered out afterwards.
      const hosts = [...new Set((domains?.names ?? []).map((name) => name.replace(/\/.*$/, '')))];
      const whole = (domains?.names ?? []).filter((name) => /^[^/]*\/?\*?$/.test(name));
      const excluded = [...new Set(whole.map((name) => name.replace(/\/.*$/, '')))];
      return {
        method: 'POST',
        path: '/search',
        authorization: `Bearer ${key}`,
        body: JSON.stringify({
          query,
          ...{ search_depth: 'basic', max_results: 20 },
          ...(domains?.kind === 'allowed' && hosts.length <= maxIncluded ? { include_domains: hosts } : {}),
          ...(domains?.kind === 'blocked' && excluded.length > 0
            ? { exclude_domains: excluded.slice(0, maxExcluded) }
            : {}),
          ...countryOf(location?.country),
        }),
      };
    },
    read: (value) =>
      answer.safeParse(value).data?.results.map(({ url, title, content, published_date: date }) => ({
        ...{ url, title: title ?? '', text: content ?? '' },
        ...(date === undefined || date === null ? {} : { pageAge: date }),
      })),
  };
}
