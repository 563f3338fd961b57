import type { RequestEvent, SearchOutcome, SearchWish } from './events.ts';

/** No stored byte may contain it: it is in each prompt, in each query and in each page. */
export const canary = 'CANARYPROMPT';

export interface FoundPage {
  readonly url: string;
  readonly title: string;
  readonly content: string;
}

/** The outcome is the last word of a query, so that it follows from the request alone. */
function queryOf(id: number, number: number, outcome: SearchOutcome): string {
  return `${canary} tides ${id} ${number} ${outcome}`;
}

const outcomes: ReadonlySet<string> = new Set<SearchOutcome>([
  ...(['found', 'nothing', 'slow', 'fails', 'fails-once', 'busy', 'silent', 'garbled'] as const),
]);
const isOutcome = (word: string): word is SearchOutcome => outcomes.has(word);

export function outcomeIn(query: string): SearchOutcome {
  const word = query.slice(query.lastIndexOf(' ') + 1);
  if (!isOutcome(word)) throw new Error(`no query of a model here: ${query}`);
  return word;
}

/** How many pages each search finds. */
const pages = 2;
/** A source that no answer has: its mark stays in the text. */
const unknownSource = 99;

/** What a search finds. */
export function pagesOf(query: string): readonly FoundPage[] {
  if (outcomeIn(query) === 'nothing') return [];
  const path = query.split(' ').slice(2, 4).join('/');
  return Array.from({ length: pages }, (_, page) => ({
    ...{ url: `https://tides.example/${path}/${page}`, title: `Tides ${path}, page ${page}` },
    content: `${canary} says: the tide rises. It falls again, says page ${page} of ${path}.`,
  }));
}

/** The queries of each call of the model, in their order. */
export function queriesOf({ id, search }: RequestEvent): readonly (readonly string[])[] {
  let number = 0;
  return (search?.rounds ?? []).map((count) =>
    Array.from({ length: count }, () => {
      number += 1;
      return queryOf(id, number, search?.outcome ?? 'found');
    }),
  );
}

/** What the model says and calls: searches in each call but the last one, in which it answers. */
export function scriptOf(event: RequestEvent & { readonly search: SearchWish }, toolName: string): readonly object[] {
  const { ask, words } = event;
  const searching = queriesOf(event).map((queries, round) => ({
    say: ask === 'schema' ? '' : `Search ${round} it is. `,
    call: queries.map((query) => ({ name: 'web_search', arguments: JSON.stringify({ query }) })),
  }));
  const last = {
    text: { say: citingText(words) },
    tools: { call: [{ name: toolName, arguments: '{"city":"Bern"}' }] },
    schema: { say: '{"city":"Bern","days":3}' },
  };
  return [...searching, last[ask]];
}

/** About so many words. Each statement stands on a source. */
function citingText(words: number): string {
  const cited = [1, 2, unknownSource, 4];
  return Array.from(
    { length: 1 + Math.floor(words / 6) },
    (_, at) => `The tide number ${at} rises [cite:${cited[at % cited.length]}].`,
  ).join(' ');
}

const mark = / \[cite:(\d+)\]/g;

/** The text that a caller gets of a text with marks, when so many sources are known: their marks have become citations. */
export const withoutMarks = (text: string, sources: number): string =>
  text.replace(mark, (whole, number: string) => (Number(number) <= sources ? '' : whole));

/** A text without the beginning of a mark at its end. A blank is the beginning, too. */
export const beforeBegunMark = (text: string): string => text.replace(/\s*(?:\[(?:c|ci|cit|cite|cite:\d*)?)?$/, '');

/** The sources that a text with marks cites, by number. */
export const citedIn = (text: string, sources: number): readonly number[] =>
  [...text.matchAll(mark)].map(([, number]) => Number(number)).filter((number) => number <= sources);
