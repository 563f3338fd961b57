/** What one answer says about the length of its model's answers. */
export interface AnswerLength {
  /** Output tokens of one choice, reasoning included. */
  readonly tokens: number;
  /** `cut-off`: its cap or its caller ended it, so that it is only known to have been going to be longer. */
  readonly end: 'whole' | 'cut-off';
}

/** How long the answers of each model are, learned from those it gave in this process. */
export interface AnswerLengths {
  /**
   * Tokens that nine in ten of a model's answers do not exceed, at most a tenth too many. `prior` is the assumed length
   * of answers while nothing is known; it counts as two answers, so it has no influence left after eighteen.
   */
  readonly p90: (modelId: string, prior: number) => number;
  readonly learn: (modelId: string, answer: AnswerLength) => void;
  /** From now on these are the models: what was learned of others is forgotten. */
  readonly retain: (models: ReadonlyMap<string, unknown>) => void;
}

/** Each bucket is a tenth wider than the one before: 147 of them reach beyond a million tokens, in 2.4 KB per model. */
const growth = 1.1;
const bucketCount = 147;
const bucketOf = (tokens: number): number =>
  Math.min(bucketCount - 1, Math.ceil(Math.log(Math.max(1, tokens)) / Math.log(growth)));
/** The longest answer that a bucket holds: rounded up, since a reservation is rather a token too high. */
const longestIn = (bucket: number): number => Math.ceil(growth ** bucket);

const priorWeight = 2;
/** Share of the answers that may be longer, and what rounding may add to it. */
const longerShare = 0.1 + 1e-9;
/** After so many answers those before them count for half: enough for a steady p90, few enough to follow a change of use. */
const halvedAfter = 1_000;

interface Learned {
  readonly whole: Float64Array;
  readonly cutOff: Float64Array;
  total: number;
}

export function createAnswerLengths(): AnswerLengths {
  const models = new Map<string, Learned>();

  function learnedOf(modelId: string): Learned {
    const known = models.get(modelId);
    if (known !== undefined) return known;
    const fresh = { whole: new Float64Array(bucketCount), cutOff: new Float64Array(bucketCount), total: 0 };
    models.set(modelId, fresh);
    return fresh;
  }

  return {
    p90: (modelId, prior) => {
      const learned = models.get(modelId);
      return learned === undefined ? prior : quantile(learned, prior);
    },
    learn: (modelId, { tokens, end }) => {
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
    retain: (next) => {
      for (const id of models.keys()) if (!next.has(id)) models.delete(id);
    },
  };
}

/**
 * The product-limit estimator (Kaplan and Meier, 1958): of the answers that reached a length, the share that went on past
 * it. An answer that was cut off counts up to its cut. Counted as whole ones, answers with a small cap would make all
 * answers look short; left out, they would hide that answers are long.
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
  // So many were cut off that nobody saw how long one in ten is: longer than all that were seen.
  return longestIn(longest);
}
