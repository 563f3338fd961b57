/** Which provider searches the web, as `WEIR_WEB_SEARCH` names it. */
export type SearchSetting =
  | { readonly provider: 'searxng'; readonly url: URL }
  | { readonly provider: 'brave' | 'tavily'; readonly keyFile: string };

/** What the setting must look like, for whoever wrote it otherwise. */
export const searchForms = 'expected searxng:URL, brave:KEYFILE or tavily:KEYFILE';

/** Reads the setting. Undefined when it is none of its forms: an instance of SearXNG has no credentials in its URL, and no query. */
export function readSearchSetting(text: string): SearchSetting | undefined {
  const [, provider, value = ''] = /^(searxng|brave|tavily):(.+)$/s.exec(text) ?? [];
  if (provider === 'brave' || provider === 'tavily') return { provider, keyFile: value };
  if (provider !== 'searxng') return undefined;
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined;
  return url.username === '' && url.password === '' && url.search === '' && url.hash === ''
    ? { provider, url }
    : undefined;
}
