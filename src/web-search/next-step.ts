import type { Finish, RoundSaid } from './collect-round.ts';
import type { SearchError } from '../core/web-search.ts';

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
function readQuery(text: string): ReadQuery {
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

/** Most searches in one response, whatever a request allows. */
export const maxSearches = 20;

/** Most calls to the model in one response: a model that never comes to an answer is stopped. */
export const maxRounds = 30;

/** What is left of what a response may take. */
export interface Allowance {
  readonly searches: number;
  readonly rounds: number;
  /** Tokens; undefined where the caller set no cap. */
  readonly output: number | undefined;
}

/** What follows a round. */
export type NextStep =
  | { readonly kind: 'finish'; readonly finish: Finish }
  | {
      readonly kind: 'search';
      readonly searches: readonly ReadQuery[];
      /** What follows the results: the model goes on, or the caller's own tools are to be called, or it ends here. */
      readonly after:
        | { readonly kind: 'round'; readonly search: 'offered' | 'withdrawn' }
        | { readonly kind: 'finish'; readonly finish: Finish };
    };

/** Decides what follows a round: a pure function of what the model said and what is left. */
export function nextStep(said: RoundSaid, left: Allowance): NextStep {
  const { finish = { reason: 'stop' }, searches, callsCaller } = said;
  const { reason } = finish;
  // A call that was cut by the cap is no call, and a refusal ends the answer.
  if (searches.length === 0 || reason === 'length' || reason === 'content_filter') {
    return { kind: 'finish', finish };
  }
  let granted = 0;
  const steps = searches.map(({ arguments: text }): ReadQuery => {
    const read = readQuery(text);
    if (read.kind === 'refused') return read;
    if (granted >= left.searches) return { kind: 'refused', input: read.input, code: 'max_uses_exceeded' };
    granted += 1;
    return read;
  });
  return { kind: 'search', searches: steps, after: after() };

  function after(): Extract<NextStep, { readonly kind: 'search' }>['after'] {
    if (callsCaller) return { kind: 'finish', finish: { reason: 'tool_calls' } };
    if (left.output !== undefined && left.output <= 0) return { kind: 'finish', finish: { reason: 'length' } };
    if (left.rounds <= 0) return { kind: 'finish', finish: { reason: 'stop' } };
    // One word on it is enough: a model that goes on asking is not asked to stop again. The list of tools stays as it is
    // for as long as it can, for the engine's cache of the prompt hangs on it.
    return { kind: 'round', search: left.searches <= 0 && granted === 0 ? 'withdrawn' : 'offered' };
  }
}
