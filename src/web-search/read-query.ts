import { type SearchError } from '../core/web-search.ts';

/** Longest query, characters. Providers take 400; a longer one is no search but a pasted text. */
const maxQuery = 400;

/** What a model asks to be searched. `input`: JSON text of its arguments, `{}` where they are no object. */
export type ReadQuery = { readonly input: string } & (
  | { readonly kind: 'query'; readonly query: string }
  | { readonly kind: 'refused'; readonly code: SearchError }
);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads the arguments of a call: `query`, or the only text there is, for small models forget what the field is called. */
export function readQuery(text: string): ReadQuery {
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'refused', input: '{}', code: 'invalid_tool_input' };
  }
  const input = JSON.stringify(value);
  const texts = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const named = texts.find(([name]) => name === 'query') ?? (texts.length === 1 ? texts[0] : undefined);
  const query = named?.[1].replace(/\s+/g, ' ').trim() ?? '';
  if (query === '') return { kind: 'refused', input, code: 'invalid_tool_input' };
  return query.length > maxQuery ? { kind: 'refused', input, code: 'query_too_long' } : { kind: 'query', input, query };
}
