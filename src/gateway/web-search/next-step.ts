import { isObject, parseJson } from '../../core/json.ts';
import { createJsonScan } from '../../core/json-scan.ts';
import type { SearchError } from '../../core/web-search.ts';
import type { Finish, RoundOutput } from './collect-round.ts';

/** Most searches in one response, whatever the request allows. */
export const maxSearches = 20;

/** Most calls of the model in one response. A model that never answers is stopped. */
export const maxRounds = 30;

/** The searches, rounds and output that a response may still use. */
export interface Allowance {
  readonly searches: number;
  readonly rounds: number;
  /** Output tokens. Undefined when the caller set no cap. */
  readonly output: number | undefined;
}

type NextStep =
  | { readonly kind: 'finish'; readonly finish: Finish }
  | {
      readonly kind: 'search';
      readonly searches: readonly ParsedQuery[];
      /** What follows the results: another round, or the end of the response, for instance with calls of the caller's tools. */
      readonly after:
        | { readonly kind: 'round'; readonly search: 'offered' | 'withdrawn' }
        | { readonly kind: 'finish'; readonly finish: Finish };
    };

/** Decides what follows a round. Pure. */
export function nextStep(output: RoundOutput, left: Allowance): NextStep {
  const { finish = { reason: 'stop' }, searches, callsCaller } = output;
  const { reason } = finish;
  // A call that the cap cut off is incomplete, and a refusal ends the answer.
  if (searches.length === 0 || reason === 'length' || reason === 'content_filter') {
    return { kind: 'finish', finish };
  }
  let granted = 0;
  const steps = searches.map(({ arguments: text }): ParsedQuery => {
    const read = parseQuery(text);
    if (read.kind === 'refused') return read;
    if (granted >= left.searches) return { kind: 'refused', input: read.input, code: 'max_uses_exceeded' };
    granted += 1;
    return read;
  });
  return { kind: 'search', searches: steps, after: after() };

  function after(): Extract<NextStep, { readonly kind: 'search' }>['after'] {
    if (callsCaller) {
      return { kind: 'finish', finish: { reason: 'tool_calls', sealedState: finish.sealedState } };
    }
    if (left.output !== undefined && left.output <= 0) return { kind: 'finish', finish: { reason: 'length' } };
    if (left.rounds <= 0) return { kind: 'finish', finish: { reason: 'stop' } };
    // A model that searches again after the result "no searches are left" loses the tool. Until then the list of tools stays the
    // same, so that the engine can use its prompt cache.
    return { kind: 'round', search: left.searches <= 0 && granted === 0 ? 'withdrawn' : 'offered' };
  }
}

/** Longest query, characters: the limit of providers. A longer one is a pasted text. */
const maxQuery = 400;

const queryLimits = { maxDepth: 32, maxValues: 1_000 };

/** The query of a search call. `input` is its arguments as JSON text, `{}` when they are not an object. */
export type ParsedQuery = { readonly input: string } & (
  | { readonly kind: 'query'; readonly query: string }
  | { readonly kind: 'refused'; readonly code: SearchError }
);

/** Reads the arguments of a call: `query`, or the only text in them, since small models forget the name of the field. */
function parseQuery(text: string): ParsedQuery {
  // A model repeats what a caller has it repeat.
  const value = createJsonScan(queryLimits).push(text) ? parseJson(text) : undefined;
  if (!isObject(value)) return { kind: 'refused', input: '{}', code: 'invalid_tool_input' };
  const texts = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const named = texts.find(([name]) => name === 'query') ?? (texts.length === 1 ? texts[0] : undefined);
  const query = named?.[1].replace(/\s+/g, ' ').trim() ?? '';
  if (query === '') return { kind: 'refused', input: text, code: 'invalid_tool_input' };
  return query.length > maxQuery
    ? { kind: 'refused', input: text, code: 'query_too_long' }
    : { kind: 'query', input: text, query };
}
