import type { SearchHit, Source } from '../core/web-search.ts';

/** Most pages of one search, and most text of one page and of all of them, UTF-16 units. */
const maxPages = 8;
const maxPageText = 4_000;
const maxText = 16_000;
const maxTitle = 300;

/** Less text than this says nothing. */
const leastText = 200;

/** Characters of a text per token: fewer than there usually are, since what does not fit ends the answer. */
const charactersPerToken = 3;

/** A page cannot cite itself: what looks like a mark in it is one no longer. Control characters say nothing. */
function clean(text: string): string {
  return (
    text
      .replaceAll('[cite:', '[cite ')
      // oxlint-disable-next-line no-control-regex -- they are what is taken out
      .replace(/[\u0000-\u0008\u000B-\u001F\u007F]/g, ' ')
      .trim()
  );
}

/** Cuts a text, never inside a character. */
function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/**
 * Numbers what was found, and cuts it to what the model has room for. Undefined when there is no room for anything.
 * `first`: number of the first source. `roomTokens`: for this search.
 */
export function fitSources(
  hits: readonly SearchHit[],
  { first, roomTokens }: { readonly first: number; readonly roomTokens: number },
): readonly Source[] | undefined {
  const room = Math.min(maxText, Math.floor(roomTokens * charactersPerToken));
  if (room < leastText) return undefined;
  const sources: Source[] = [];
  let left = room;
  const distinct = [...new Map(hits.map((hit) => [hit.url, hit])).values()].slice(0, maxPages);
  for (const [at, { url, title, text, pageAge }] of distinct.entries()) {
    const name = cut(clean(title), maxTitle) || url;
    // An equal share each; what the ones before left over is the next ones'.
    const share = Math.floor(left / (distinct.length - at)) - url.length - name.length;
    if (share < leastText && sources.length > 0) break;
    const body = cut(clean(text), Math.min(maxPageText, Math.max(share, leastText)));
    left -= url.length + name.length + body.length;
    const age = pageAge === undefined ? {} : { pageAge: cut(clean(pageAge), 64) };
    sources.push({ number: first + sources.length, url, title: name, text: body, ...age });
  }
  return sources;
}
