import type { Model } from '../../core/catalog.ts';
import type { PreparedRequest } from '../../core/prompt.ts';
import type { Usage } from '../../core/money.ts';

/**
 * Output that is assumed for a model without known lengths of answers, tokens. For a request without a cap it depends
 * on whether the model reasons before it answers. `mostOfCap` limits what a cap adds: agents send caps of 32,000 or
 * 64,000 with every request and use a fraction.
 */
export const priors = { plain: 1_024, reasoning: 4_096, mostOfCap: 16_384 };
/** A model that has only answered in single words can be asked for a paragraph. */
export const minExpected = 256;

/** The part of a request that decides how much output is to be expected of it. */
type Asked = Pick<PreparedRequest['request'], 'task' | 'maxOutputTokens' | 'reasoning' | 'sampling' | 'webSearch'>;

/** Output tokens to be expected of a request, over all its choices: the smaller of its cap and the p90 of its model's answers. */
export function expectOutput(
  asked: Asked,
  model: Pick<Model, 'id' | 'contextLength' | 'reasoning'>,
  lengths: Pick<AnswerLengths, 'p90'>,
): number {
  // Vectors and scores have no tokens.
  if (asked.task !== undefined) return 0;
  const cap = Math.min(asked.maxOutputTokens ?? Infinity, model.contextLength);
  return choicesOf(asked) * Math.min(cap, Math.max(minExpected, lengths.p90(model.id, priorOf(asked, model))));
}

/** The output assumed of a request to an unknown model. Reasoning is on unless the request refuses it. */
function priorOf({ maxOutputTokens, reasoning }: Asked, model: Pick<Model, 'reasoning'>): number {
  if (maxOutputTokens !== undefined) return Math.min(maxOutputTokens, priors.mostOfCap);
  return model.reasoning.mode === 'None' || reasoning?.enabled === false ? priors.plain : priors.reasoning;
}

const choicesOf = ({ sampling }: Pick<Asked, 'sampling'>): number => sampling.n ?? 1;

/**
 * The expected usage of a request by its end, from its usage so far. The expected output stays the same while the
 * answer runs, because each delivered token was expected. It grows only when the answer is longer. A request that may
 * search and has not is expected to search once and to read its prompt again with the results.
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

/** The length of an answer that has ended; undefined when it had no output. */
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

export interface AnswerLength {
  /** Output tokens of one choice, reasoning included. */
  readonly tokens: number;
  /** `cut-off`: its cap or its caller ended it, so the answer would have been longer than `tokens`. */
  readonly end: 'whole' | 'cut-off';
}

/** How long the answers of each model are, learned from the model's answers in this process. */
export type AnswerLengths = ReturnType<typeof createAnswerLengths>;

/** Each bucket is a tenth wider than the one before: 147 of them reach beyond a million tokens, in 2.4 KB per model. */
const growth = 1.1;
const bucketCount = 147;
const bucketOf = (tokens: number): number =>
  Math.min(bucketCount - 1, Math.ceil(Math.log(Math.max(1, tokens)) / Math.log(growth)));
/** The longest answer that a bucket holds. Rounded up: a reservation is better a token too high than too low. */
const longestIn = (bucket: number): number => Math.ceil(growth ** bucket);

const priorWeight = 2;
/** Share of the answers that may be longer, plus the error of rounding. */
const longerShare = 0.1 + 1e-9;
/**
 * After this many answers the earlier ones count for half: enough for a steady p90, few enough to follow a change of
 * use.
 */
const halvedAfter = 1_000;

interface Learned {
  readonly whole: Float64Array;
  readonly cutOff: Float64Array;
  total: number;
}

export function createAnswerLengths() {
  const models = new Map<string, Learned>();

  function learnedOf(modelId: string): Learned {
    return models.getOrInsertComputed(modelId, () => ({
      whole: new Float64Array(bucketCount),
      cutOff: new Float64Array(bucketCount),
      total: 0,
    }));
  }

  return {
    /**
     * Tokens that nine in ten of a model's answers do not exceed, at most a tenth too many. `prior` is the assumed length
     * of answers while nothing is known. It counts as two answers, so it has no influence after eighteen answers.
     */
    p90: (modelId: string, prior: number): number => {
      const learned = models.get(modelId);
      return learned === undefined ? prior : quantile(learned, prior);
    },
    learn: (modelId: string, { tokens, end }: AnswerLength): void => {
      const learned = learnedOf(modelId);
      const counts = end === 'whole' ? learned.whole : learned.cutOff;
      const bucket = bucketOf(tokens);
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      learned.total += 1;
      if (learned.total < halvedAfter) return;
      learned.total = 0;
      for (const kept of [learned.whole, learned.cutOff]) {
        for (const [at, count] of kept.entries()) {
          kept[at] = count / 2;
          learned.total += count / 2;
        }
      }
    },
    /** Forgets the lengths of all models but these. */
    retain: (next: ReadonlyMap<string, unknown>): void => {
      for (const id of models.keys()) if (!next.has(id)) models.delete(id);
    },
  };
}

/**
 * The product-limit estimator (Kaplan and Meier, 1958): of the answers that reached a length, the share that went on
 * past it. An answer that was cut off counts up to its cut. If it counted as a whole answer, small caps would make all
 * answers look short. If it were left out, long answers would be hidden.
 */
function quantile({ whole, cutOff, total }: Learned, prior: number): number {
  const priorBucket = bucketOf(prior);
  let reached = total + priorWeight;
  let goOn = 1;
  let longest = 0;
  for (let bucket = 0; bucket < bucketCount; bucket += 1) {
    const ended = (whole[bucket] ?? 0) + (bucket === priorBucket ? priorWeight : 0);
    const cut = cutOff[bucket] ?? 0;
    if (ended > 0) goOn *= 1 - ended / reached;
    if (goOn <= longerShare) return longestIn(bucket);
    if (ended + cut > 0) longest = bucket;
    reached -= ended + cut;
  }
  // So many answers were cut off that the p90 is above all lengths that were seen.
  return longestIn(longest);
}
