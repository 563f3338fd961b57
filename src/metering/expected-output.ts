import type { Model } from '../core/catalog.ts';
import type { PreparedRequest } from '../core/prompt.ts';
import type { Usage } from '../core/money.ts';
import type { AnswerLength, AnswerLengths } from './answer-lengths.ts';

/**
 * Output that is assumed of a model which has not shown how long its answers are, tokens: of a request without a cap, by
 * whether it reasons before it answers; and the most that a cap is believed, since agents send caps of 32,000 or 64,000
 * with every request and use a fraction.
 */
export const priors = { plain: 1_024, reasoning: 4_096, mostOfCap: 16_384 };
/** A model that has only ever answered in a word may be asked for a paragraph. */
export const leastExpected = 256;

/** What of a request decides how much output is to be expected of it. */
type Asked = Pick<PreparedRequest['request'], 'maxOutputTokens' | 'reasoning' | 'sampling' | 'webSearch'>;

/** What is assumed of a request to a model that nobody knows. Reasoning is on unless it is refused. */
function priorOf({ maxOutputTokens, reasoning }: Asked, model: Pick<Model, 'reasoning'>): number {
  if (maxOutputTokens !== undefined) return Math.min(maxOutputTokens, priors.mostOfCap);
  return model.reasoning.mode === 'None' || reasoning?.enabled === false ? priors.plain : priors.reasoning;
}

const choicesOf = ({ sampling }: Pick<Asked, 'sampling'>): number => sampling.n ?? 1;

/** Output tokens to be expected of a request, over all its choices: the smaller of its cap and the p90 of its model's answers. */
export function expectOutput(
  asked: Asked,
  model: Pick<Model, 'id' | 'contextLength' | 'reasoning'>,
  lengths: Pick<AnswerLengths, 'p90'>,
): number {
  const cap = Math.min(asked.maxOutputTokens ?? Infinity, model.contextLength);
  return choicesOf(asked) * Math.min(cap, Math.max(leastExpected, lengths.p90(model.id, priorOf(asked, model))));
}

/**
 * What a request is expected to use by its end, from what it has used so far. The expected output stays the same while the
 * answer runs: each delivered token was one that was expected, until the answer is longer than that. A request that may
 * search, and has not, is expected to search once and to read its prompt again with what was found.
 */
export function expectUsage(soFar: Usage, asked: Asked, expectedOutput: number): Usage {
  const { promptTokens, webSearches } = soFar;
  const willSearch = asked.webSearch !== undefined && webSearches === undefined && expectedOutput > 0;
  return {
    ...soFar,
    ...(willSearch && { promptTokens: 2 * promptTokens, webSearches: 1 }),
    completionTokens: Math.max(soFar.completionTokens, expectedOutput),
  };
}

/** What an answer that has ended says about the length of its model's answers; undefined when it had no output. */
export function lengthOf(
  asked: Asked,
  { kind, usage }: { readonly kind: string; readonly usage: Usage },
): AnswerLength | undefined {
  const choices = choicesOf(asked);
  const { completionTokens } = usage;
  if (completionTokens <= 0) return undefined;
  const isCapped = completionTokens >= (asked.maxOutputTokens ?? Infinity) * choices;
  return {
    tokens: Math.ceil(completionTokens / choices),
    end: kind === 'completed' && !isCapped ? 'whole' : 'cut-off',
  };
}
