import { z } from 'zod';
import type { Headers } from '../../core/exchange.ts';
import type { UserLocation } from '../../core/web-search.ts';
import { type SearchApi, withSites } from './search-api.ts';

const answer = z.object({
  web: z
    .object({
      results: z.array(
        z.object({
          url: z.string(),
          title: z.string().nullish(),
          description: z.string().nullish(),
          extra_snippets: z.array(z.string()).nullish(),
          /** In words: `3 days ago`. */
          age: z.string().nullish(),
          /** ISO 8601. */
          page_age: z.string().nullish(),
        }),
      ),
    })
    .nullish(),
});

/** Countries that `country` takes; any other is an error there. */
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
  // A header holds ASCII; a place in other letters is left to the model, which knows of it too.
  return all.flatMap(([name, value]) => (value !== undefined && /^[\x20-\x7e]+$/.test(value) ? [[name, value]] : []));
}

/** Brave's words are HTML, even without its own emphasis. */
function plain(html: string): string {
  const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };
  return html
    .replace(/<\/?[a-z][^>]*>/gi, '')
    .replace(/&#(x[0-9a-f]{1,6}|\d{1,7});/gi, (whole, code: string) => {
      const point = Number(code.startsWith('x') || code.startsWith('X') ? `0${code}` : code);
      return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole;
    })
    .replace(/&([a-z]{2,4});/g, (whole, name: string) => named[name] ?? whole);
}

/** Brave Search. https://api-dashboard.search.brave.com/api-reference/web/search/get */
export function brave(): SearchApi {
  return {
    name: 'brave',
    url: new URL('https://api.search.brave.com/res/v1/web/search'),
    write: ({ query, domains, location = {} }, key) => {
      const parameters = new URLSearchParams({
        q: withSites(query, domains),
        ...{ count: '20', result_filter: 'web', extra_snippets: 'true', text_decorations: 'false' },
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
      // Without anything found there is no `web` at all.
      return data?.web === undefined || data.web === null
        ? data && []
        : data.web.results.map(({ url, title, description, extra_snippets: snippets, age, page_age: date }) => {
            const pageAge = age ?? date?.slice(0, 10);
            return {
              ...{ url, title: plain(title ?? '') },
              text: plain([description ?? '', ...(snippets ?? [])].filter((text) => text !== '').join('\n')),
              ...(pageAge === undefined ? {} : { pageAge }),
            };
          });
    },
  };
}
