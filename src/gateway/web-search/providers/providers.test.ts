import { describe, expect, it } from 'vitest';
import type { SearchQuery } from '../../../core/web-search.ts';
import { brave } from './brave.ts';
import type { SearchApi } from './search-api.ts';
import { searxng } from './searxng.ts';
import { tavily } from './tavily.ts';

const queryOf = (api: SearchApi, query: SearchQuery): string | null =>
  new URLSearchParams(api.write(query, '').body).get('q');
const place = { city: 'Genève', region: 'GE', country: 'CH', timezone: 'Europe/Zurich' };

describe('SearXNG', () => {
  const api = searxng(new URL('https://find.example/searx/'));

  it('is asked in the body, under the path of the instance', () => {
    expect(api.write({ query: 'a b' }, '')).toEqual({
      path: '/searx/search',
      contentType: 'application/x-www-form-urlencoded',
      body: 'q=a+b&format=json',
    });
    expect(searxng(new URL('http://find.example')).write({ query: 'a' }, '').path).toBe('/search');
  });

  it('gets the sites as operators', () => {
    const domains = (kind: 'allowed' | 'blocked', ...names: string[]) => ({ query: 'q', domains: { kind, names } });
    expect(queryOf(api, domains('allowed', 'a.example'))).toBe('q site:a.example');
    expect(queryOf(api, domains('allowed', 'a.example', 'b.example/x/*'))).toBe(
      'q (site:a.example OR site:b.example/x)',
    );
    expect(queryOf(api, domains('blocked', 'a.example', 'b.example'))).toBe('q -site:a.example -site:b.example');
  });

  it('gets as many blocked sites as fit, and all allowed ones or none', () => {
    const names = Array.from({ length: 60 }, (_, index) => `site-${index}.example`);
    const blocked = queryOf(api, { query: 'q', domains: { kind: 'blocked', names } }) ?? '';
    expect(blocked.length).toBeLessThanOrEqual(400);
    expect(blocked.split(' ').length).toBeGreaterThan(10);
    expect(queryOf(api, { query: 'q', domains: { kind: 'allowed', names } })).toBe('q');
  });

  it('is read as its search API has it', () => {
    const results = [
      {
        url: 'https://a.example/',
        title: 'A',
        content: 'About a.',
        engine: 'x',
        publishedDate: '2026-01-31T10:00:00',
        score: 2,
      },
      { url: 'https://b.example/', title: 'B', content: null, publishedDate: null, parsed_url: ['https'] },
    ];
    const answer = { query: 'q', number_of_results: 0, results, answers: [], infoboxes: [], unresponsive_engines: [] };
    expect(api.read(answer)).toEqual([
      { url: 'https://a.example/', title: 'A', text: 'About a.', pageAge: '2026-01-31' },
      { url: 'https://b.example/', title: 'B', text: '' },
    ]);
  });

  it('has found nothing when its engines found nothing, and has failed when none of them answered', () => {
    expect(api.read({ results: [], unresponsive_engines: [] })).toEqual([]);
    expect(api.read({ results: [], unresponsive_engines: [['x', 'timeout']] })).toBeUndefined();
    expect(api.read({ error: 'no' })).toBeUndefined();
    expect(api.read(undefined)).toBeUndefined();
  });
});

describe('Brave', () => {
  const api = brave();

  it('is asked with its key and the parts of a location that it takes', () => {
    const { path, headers, method } = api.write({ query: 'a b', location: place }, 'the-key');
    expect(method).toBe('GET');
    expect(path).toMatch(/^\/res\/v1\/web\/search\?q=a\+b&.*country=CH/);
    // Headers hold ASCII: the city is left out.
    expect(headers).toEqual([
      ['x-subscription-token', 'the-key'],
      ['x-loc-state-name', 'GE'],
      ['x-loc-country', 'CH'],
      ['x-loc-timezone', 'Europe/Zurich'],
    ]);
    expect(api.write({ query: 'a', location: { country: 'LI' } }, 'k').path).not.toContain('country=');
  });

  it('is read as its web search API has it, its HTML as text', () => {
    const results = [
      {
        ...{
          type: 'search_result',
          title: 'A &amp; B',
          url: 'https://a.example/',
          age: '3 days ago',
          page_age: '2026-01-31T00:00:00',
        },
        description: 'It is&nbsp;<strong>known</strong> that a &lt; b &#39;here&#39; &#x1F600; &hellip;',
        extra_snippets: ['More.', 'And more.'],
      },
      { title: 'B', url: 'https://b.example/', description: 'b', page_age: '2026-02-01T00:00:00' },
    ];
    expect(api.read({ type: 'search', query: {}, web: { type: 'search', results } })).toEqual([
      {
        ...{ url: 'https://a.example/', title: 'A & B', pageAge: '3 days ago' },
        text: "It is known that a < b 'here' 😀 …\nMore.\nAnd more.",
      },
      { url: 'https://b.example/', title: 'B', text: 'b', pageAge: '2026-02-01' },
    ]);
  });

  it('has found nothing when there is no web part', () => {
    expect(api.read({ type: 'search', query: {} })).toEqual([]);
    expect(api.read({ type: 'search', web: { results: 'x' } })).toBeUndefined();
    expect(api.read('<html>')).toBeUndefined();
  });
});

describe('Tavily', () => {
  const api = tavily();
  const asked = (query: SearchQuery): unknown => JSON.parse(api.write(query, 'k').body);

  it('is asked with its key, the sites and the country by its English name', () => {
    expect(api.write({ query: 'q' }, 'the-key')).toMatchObject({
      path: '/search',
      headers: [['authorization', 'Bearer the-key']],
    });
    expect(
      asked({
        query: 'q',
        location: place,
        domains: { kind: 'allowed', names: ['a.example/x', 'a.example', 'b.example'] },
      }),
    ).toEqual({
      ...{ query: 'q', search_depth: 'basic', max_results: 20, country: 'switzerland' },
      include_domains: ['a.example', 'b.example'],
    });
  });

  it('does not exclude a site of which only a part is blocked', () => {
    const domains = { kind: 'blocked' as const, names: ['a.example/x', 'b.example', 'c.example/*'] };
    expect(asked({ query: 'q', domains })).toMatchObject({ exclude_domains: ['b.example', 'c.example'] });
  });

  it('is read as its search API has it', () => {
    const results = [
      { title: 'A', url: 'https://a.example/', content: 'About a.', score: 0.9, raw_content: null, favicon: 'x' },
      {
        title: 'B',
        url: 'https://b.example/',
        content: 'b',
        score: 0.5,
        published_date: 'Mon, 02 Feb 2026 00:00:00 GMT',
      },
    ];
    expect(api.read({ query: 'q', answer: null, images: [], results, response_time: '1.2', request_id: 'x' })).toEqual([
      { url: 'https://a.example/', title: 'A', text: 'About a.' },
      { url: 'https://b.example/', title: 'B', text: 'b', pageAge: 'Mon, 02 Feb 2026 00:00:00 GMT' },
    ]);
    expect(api.read({ detail: { error: 'Unauthorized' } })).toBeUndefined();
  });
});

const good = { url: 'https://a.example/', title: 'A', content: 'About a.', description: 'About a.' };
describe.each([
  ['SearXNG', searxng(new URL('https://find.example/')), (results: unknown) => ({ results })],
  ['Tavily', tavily(), (results: unknown) => ({ results })],
  ['Brave', brave(), (results: unknown) => ({ web: { results } })],
] as const)('an odd result of %s', (_, api, answer) => {
  const read = (...results: readonly unknown[]) => api.read(answer(results));

  it('does not take the others with it', () => {
    expect(read({ ...good, content: 7, description: 7 }, good)).toMatchObject([{ text: '' }, { text: 'About a.' }]);
    expect(read({ ...good, title: {} }, good)).toMatchObject([{ title: '' }, { title: 'A' }]);
    const dates = { publishedDate: 7, published_date: 7, page_age: 7, age: 7, extra_snippets: [7] };
    expect(read({ ...good, ...dates })).toMatchObject([{ title: 'A', text: 'About a.' }]);
  });

  it('without an address is left out, and the answer fails if there are no others', () => {
    expect(read({ ...good, url: 7 }, null, good)).toHaveLength(1);
    expect(read({ ...good, url: 7 })).toBeUndefined();
    expect(read()).toEqual([]);
  });
});
