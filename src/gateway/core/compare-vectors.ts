/** Compares the vectors that two engines make of the probe texts, and says what usually explains a difference. */
import { probeTextNames } from './vector-probe.ts';

/** One vector for each of the probe texts, in their order. */
export type ProbeVectors = readonly Float32Array[];

export interface VectorBounds {
  /** Length of each vector that the model declares. */
  readonly dimensions: number;
  /** Least cosine that two vectors of one text may have, 0 to 1. */
  readonly minSimilarity: number;
}

export interface TextComparison {
  readonly cosine: number;
  /** Euclidean length of the vector, and of the reference's. */
  readonly norm: number;
  readonly referenceNorm: number;
}

/** The rounding of float32, for a `minSimilarity` of 1. */
const rounding = 1e-6;

export type VectorVerdict =
  | { readonly kind: 'same'; readonly lowest: number; readonly texts: readonly TextComparison[] }
  | {
      readonly kind: 'differs';
      /** The lowest cosine. Undefined: the vectors have another length, so there is none. */
      readonly lowest: number | undefined;
      /** Empty if the vectors have another length. */
      readonly texts: readonly TextComparison[];
      /** What differs, with its figure. */
      readonly finding: string;
      /** What usually explains such a difference. */
      readonly explanation: string;
    };

export function normOf(vector: Float32Array): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
}

/** The cosine of the angle between two vectors of the same length; 0 if one of them is all zero. */
export function cosineOf(a: Float32Array, b: Float32Array): number {
  const dot = a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
  const norms = normOf(a) * normOf(b);
  return norms === 0 ? 0 : Math.max(-1, Math.min(1, dot / norms));
}

/**
 * Compares vectors with those of the reference. They are the same if each has the declared length, a cosine of at least
 * `minSimilarity`, and a norm that is no further from the reference's than that cosine lets the direction be: an index that compares
 * by dot product or by distance orders by the norm, too.
 */
export function compareVectors(vectors: ProbeVectors, reference: ProbeVectors, bounds: VectorBounds): VectorVerdict {
  const { dimensions } = bounds;
  const wrong = vectors.find(({ length }) => length !== dimensions);
  if (wrong !== undefined) return wrongLengthVerdict(wrong.length, bounds);
  const before = reference.find(({ length }) => length !== dimensions);
  if (before !== undefined) {
    const finding = `vectors of ${dimensions} numbers, the reference has ${before.length}`;
    const explanation = 'another model, or another spec.embedding.dimensions than before';
    return { kind: 'differs', lowest: undefined, texts: [], finding, explanation };
  }
  const texts = vectors.map((vector, index): TextComparison => {
    const other = reference[index] ?? new Float32Array(vector.length);
    return { cosine: cosineOf(vector, other), norm: normOf(vector), referenceNorm: normOf(other) };
  });
  const lowest = Math.min(...texts.map(({ cosine }) => cosine));
  if (lowest < bounds.minSimilarity - rounding) {
    const least = probeTextNames[texts.findIndex(({ cosine }) => cosine === lowest)];
    const finding = `lowest cosine ${figure(lowest)} (${least} text), at least ${bounds.minSimilarity} needed`;
    return { kind: 'differs', lowest, texts, finding, explanation: explain(texts, bounds) };
  }
  const scaled = texts.find((text) => !hasSameNorm(text, bounds));
  if (scaled === undefined) return { kind: 'same', lowest, texts };
  const { norm, referenceNorm } = scaled;
  const finding = `cosine ${figure(lowest)}, but norm ${figure(norm)} where the reference has ${figure(referenceNorm)}`;
  return { kind: 'differs', lowest, texts, finding, explanation: 'only one of the two normalises its vectors' };
}

/** The verdict on vectors of another length than the declared one. */
export function wrongLengthVerdict(length: number, { dimensions }: Pick<VectorBounds, 'dimensions'>): VectorVerdict {
  return {
    ...{ kind: 'differs', lowest: undefined, texts: [] },
    finding: `vectors of ${length} numbers, spec.embedding.dimensions declares ${dimensions}`,
    explanation: 'another model, or a wrong declaration',
  };
}

/**
 * The verdict on an engine whose vector of a text depends on the other texts of the call, as with some batches of llama.cpp
 * (https://github.com/ggml-org/llama.cpp/issues/26282). Undefined: it does not.
 */
export function besideVerdict(
  { beside, alone }: { readonly beside: Float32Array; readonly alone: Float32Array },
  { minSimilarity }: Pick<VectorBounds, 'minSimilarity'>,
): VectorVerdict | undefined {
  const lowest = cosineOf(beside, alone);
  if (lowest >= minSimilarity - rounding) return undefined;
  return {
    ...{ kind: 'differs', lowest, texts: [] },
    finding: `cosine ${figure(lowest)} between its own vectors of one text, alone and with others in a call`,
    explanation: 'llama.cpp with several slots: start it with --parallel 1, or set spec.embedding.maxInputs to 1',
  };
}

/** A figure with four digits after the point. Rounds down, so that a cosine below a bound never reads as the bound. */
export const figure = (value: number): string => (Math.floor((value + rounding) * 10_000) / 10_000).toFixed(4);

/** The relative distance that a cosine of `minSimilarity` leaves between two vectors of the same norm: √(2 − 2·cosine). */
function hasSameNorm({ norm, referenceNorm }: TextComparison, { minSimilarity }: VectorBounds): boolean {
  const tolerance = Math.sqrt(Math.max(0, 2 - 2 * minSimilarity)) + rounding;
  return Math.abs(norm - referenceNorm) <= tolerance * referenceNorm;
}

/** Least cosine of vectors of the same model in another precision. */
const quantised = 0.93;
/** Vectors of unrelated models have cosines around 0, with a spread of 1/√dimensions. */
const unrelated = 0.3;
/** A prefix is a larger part of a short text: its cosine is lower by this, at least. */
const prefixGap = 0.02;

/** The most frequent cause of such cosines. None of them is certain. */
function explain(texts: readonly TextComparison[], { minSimilarity }: VectorBounds): string {
  const cosines = texts.map(({ cosine }) => cosine);
  const [short = 0, long = 0, nonLatin = 0, code = 0] = cosines;
  const isGood = (cosine: number): boolean => cosine >= minSimilarity - rounding;
  if (isGood(short) && isGood(nonLatin) && isGood(code)) {
    return 'a window that cuts long texts, or another attention or position scaling';
  }
  if (isGood(short) && isGood(long)) return 'another tokenizer, or another normalisation of Unicode';
  if (cosines.every((cosine) => Math.abs(cosine) < unrelated)) return 'another model';
  if (Math.min(...cosines) >= quantised && !(long - short >= prefixGap)) {
    return 'another quantisation or precision (spec.embedding.minSimilarity can accept it)';
  }
  if (long - short >= prefixGap) return 'a prefix or an instruction before each text, or a missing one';
  return 'another pooling (mean, CLS, last token)';
}
