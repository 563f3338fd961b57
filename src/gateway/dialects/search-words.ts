import type { Tool } from '../../core/request.ts';
import { type SearchError, type Source, type WebSearchAsk, webSearchName } from '../../core/web-search.ts';

/** How a model cites sources. `none` for an answer in JSON, in which a mark would be part of a value. */
export type Citing = 'marks' | 'none';

/** The mark by which a model cites a source. A plain `[1]` also occurs in code, in lists and in web pages, and could not be removed safely. */
export function citeMark(number: number): string {
  return `[cite:${number}]`;
}

const howToCite =
  'Each result begins with its mark, such as [cite:3]. In your answer, write the mark of a result right after each ' +
  'statement that stands on it, exactly as it is given. Do not list the sources at the end.';

/** Most sites that are named to the model. The search itself applies all of them. */
const maxNamed = 20;

function aboutDomains({ domains }: WebSearchAsk): string {
  if (domains === undefined || domains.names.length === 0) return '';
  const named = domains.names.slice(0, maxNamed).join(', ');
  return domains.kind === 'allowed' ? ` Only these sites are searched: ${named}.` : ` Not searched: ${named}.`;
}

function aboutLocation({ location }: WebSearchAsk): string {
  if (location === undefined) return '';
  const { city, region, country, timezone } = location;
  const place = [city, region, country].filter((part) => part !== undefined).join(', ');
  const zone = timezone === undefined ? '' : ` (time zone ${timezone})`;
  return place === '' && zone === '' ? '' : ` The user is in ${place === '' ? 'an unnamed place' : place}${zone}.`;
}

/**
 * Makes the function tool for the web search. Its description has all that the model must know, so that nothing is added to the
 * prompt.
 */
export function webSearchTool(ask: WebSearchAsk, citing: Citing): Tool {
  return {
    name: webSearchName,
    description:
      'Searches the web and gives a few results with their text. Use it for what is recent, and for what you are not ' +
      `certain of. One query per call, in a few words.${aboutDomains(ask)}${aboutLocation(ask)}` +
      (citing === 'marks' ? ` ${howToCite}` : ''),
    parameters: {
      type: 'object',
      properties: { query: { type: 'string', description: 'What to search for.' } },
      required: ['query'],
    },
  };
}

/** The results of a search as the model reads them: the same text when they are new and when a client sends them back. */
export function writeSources(sources: readonly Source[], citing: Citing): string {
  if (sources.length === 0) return 'Nothing was found.';
  const pages = sources.map(({ number, url, title, text, pageAge }) => {
    const age = pageAge === undefined ? '' : ` (${pageAge})`;
    const mark = citing === 'marks' ? citeMark(number) : `${number}.`;
    return `${mark} ${title}${age}\n${url}\n${text}`;
  });
  return [...pages, ...(citing === 'marks' ? [howToCite] : [])].join('\n\n');
}

const errorWords: Readonly<Record<SearchError, string>> = {
  invalid_tool_input: 'The arguments have no query. Call it with {"query": "a few words"}.',
  unavailable: 'The search did not work. Answer with what you know, and say that you could not search.',
  max_uses_exceeded: 'No more searches are allowed. Answer with what you have.',
  too_many_requests: 'Too many searches right now. Answer with what you have.',
  query_too_long: 'The query is too long. Use a few words.',
  request_too_large: 'There is no room left for results. Answer with what you have.',
};

/** The text that the model reads when a search has failed. */
export function writeSearchError(code: SearchError): string {
  return `Error: ${code}. ${errorWords[code]}`;
}
