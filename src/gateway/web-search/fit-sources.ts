import type { SearchHit, Source } from '../../core/web-search.ts';

/** Most pages of one search. The three limits below are for the text of a page, of all pages, and of a title, in UTF-16 units. */
const maxPages = 8;
const maxPageText = 4_000;
const maxText = 16_000;
const maxTitle = 300;

/** Least text of a page that is of any use. */
const minText = 200;

/** Characters per token, a low estimate: results that do not fit would end the answer. */
const charactersPerToken = 3;

/** Removes control characters, and changes what looks like a citation mark, so that a page cannot cite itself. */
function clean(text: string): string {
  return (
    text
      .replaceAll('[cite:', '[cite ')
      // oxlint-disable-next-line no-control-regex -- it removes control characters
      .replace(/[\u0000-\u0008\u000B-\u001F\u007F]/g, ' ')
      .trim()
  );
}

/** Cuts a text, never inside of a character. */
function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/**
 * Numbers the hits and cuts them to the room that the model has left. Returns undefined when there is no room. `first` is the
 * number of the first source, `roomTokens` the room for this search.
 */
export function fitSources(
  hits: readonly SearchHit[],
  { first, roomTokens }: { readonly first: number; readonly roomTokens: number },
): readonly Source[] | undefined {
  const room = Math.min(maxText, Math.floor(roomTokens * charactersPerToken));
  if (room < minText) return undefined;
  const sources: Source[] = [];
  let left = room;
  const distinct = [...new Map(hits.map((hit) => [hit.url, hit])).values()].slice(0, maxPages);
  for (const [at, { url, title, text, pageAge }] of distinct.entries()) {
    const name = cut(clean(title), maxTitle) || url;
    // Each page gets an equal share of what the pages before it have left.
    const share = Math.floor(left / (distinct.length - at)) - url.length - name.length;
    if (share < minText && sources.length > 0) break;
    const body = cut(clean(text), Math.min(maxPageText, Math.max(share, minText)));
    left -= url.length + name.length + body.length;
    const age = pageAge === undefined ? undefined : cut(clean(pageAge), 64);
    sources.push({ number: first + sources.length, url, title: name, text: body, pageAge: age });
  }
  return sources;
}
