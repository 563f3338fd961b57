import { decodeHTMLStrict } from 'entities/decode';
import { z } from 'zod';
import type { Headers } from '../../../core/headers.ts';
import type { UserLocation } from '../../../core/web-search.ts';
import { readableResults, resultText, type SearchApi, withSites } from './search-api.ts';

const answer = z.object({
  web: z
    .object({
      results: readableResults(
        z.object({
          url: z.string(),
          title: resultText,
          description: resultText,
          extra_snippets: z.array(z.string()).nullish().catch(undefined),
          /** The age in words, such as `3 days ago`. */
          age: resultText,
          /** The date in ISO 8601. */
          page_age: resultText,
        }),
      ),
    })
    .nullish(),
});

/** The countries that `country` accepts; any other is an error. */
const countries: ReadonlySet<string> = new Set(
  'AR AU AT BE BR CA CL DK FI FR DE GR HK IN ID IT JP KR MY MX NL NZ NO CN PL PT PH RU SA ZA ES SE CH TW TR GB US'.split(
    ' ',
  ),
);

function locationHeaders({ city, region, country, timezone }: UserLocation): Headers {
  const all: readonly (readonly [string, string | undefined])[] = [
    ['x-loc-city', city],
    ['x-loc-state-name', region],
    ['x-loc-country', country],
    ['x-loc-timezone', timezone],
  ];
  // A header holds ASCII. The model knows a place in other letters, too, and can put it into the query.
  return all.flatMap(([name, value]) => (value !== undefined && /^[\x20-\x7e]+$/.test(value) ? [[name, value]] : []));
}

/** Returns the text of HTML from Brave, which has tags and entities even if Brave is asked for no emphasis. */
const plain = (html: string): string =>
  decodeHTMLStrict(html.replace(/<\/?[a-z][^>]*>/gi, '')).replaceAll('\u00A0', ' ');

/** Brave Search. https://api-dashboard.search.brave.com/api-reference/web/search/get */
export function brave(): SearchApi {
  return {
    name: 'brave',
    url: new URL('https://api.search.brave.com/res/v1/web/search'),
    write: ({ query, domains, location = {} }, key) => {
      const parameters = new URLSearchParams({
        q: withSites(query, domains),
        count: '20',
        result_filter: 'web',
        extra_snippets: 'true',
        text_decorations: 'false',
        ...(location.country !== undefined && countries.has(location.country) ? { country: location.country } : {}),
      });
      return {
        method: 'GET',
        path: `/res/v1/web/search?${parameters.toString()}`,
        headers: [['x-subscription-token', key], ...locationHeaders(location)],
        body: '',
      };
    },
    read: (value) => {
      const { data } = answer.safeParse(value);
      // An answer without hits has no `web`.
      const results = data && (data.web?.results ?? []);
      return results?.map(({ url, title, description, extra_snippets: snippets, age, page_age: date }) => ({
        url,
        title: plain(title ?? ''),
        text: plain([description ?? '', ...(snippets ?? [])].filter((text) => text !== '').join('\n')),
        pageAge: age ?? date?.slice(0, 10),
      }));
    },
  };
}
