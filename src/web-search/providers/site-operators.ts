import type { SearchDomains } from '../../core/web-search.ts';

/** Longest query with its operators, characters and words: what Brave takes, and more than others care for. */
const maxCharacters = 400;
const maxWords = 50;

/**
 * A query with the sites it is limited to, in the words that search engines share: `(site:a.example OR site:b.example)`,
 * `-site:c.example`. As many as there is room for: whoever asks filters what comes back, too.
 */
export function withSites(query: string, domains: SearchDomains | undefined): string {
  if (domains === undefined) return query;
  const sites = domains.names.map((name) => name.replace(/\/?\*$/, ''));
  for (let count = sites.length; count > 0; count -= 1) {
    const some = sites.slice(0, count);
    // All of the allowed or none: the first few alone would hide what the others have.
    if (domains.kind === 'allowed' && count < sites.length) break;
    const text = domains.kind === 'allowed' ? allowed(some) : some.map((site) => `-site:${site}`).join(' ');
    const whole = `${query} ${text}`;
    if (whole.length <= maxCharacters && whole.split(' ').length <= maxWords) return whole;
  }
  return query;
}

function allowed(sites: readonly string[]): string {
  const terms = sites.map((site) => `site:${site}`);
  return terms.length === 1 ? (terms[0] ?? '') : `(${terms.join(' OR ')})`;
}
