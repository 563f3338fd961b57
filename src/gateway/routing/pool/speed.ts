/**
 * How long something takes by its amount: a first token by the tokens that are computed until then, or the gap between two tokens by
 * the answers under way. A line through what was measured; newer samples count for more.
 */
export type Speed = ReturnType<typeof createSpeed>;

export interface AssumedSpeed {
  /** The assumption counts as so many samples of `amount`, or of the first measured amount if that is less. */
  readonly samples: number;
  readonly amount: number;
  readonly eachMs: number;
  /** How long nothing at all takes. Some of it counts for good. */
  readonly minMs: number;
  readonly spread: number;
}

/** After so many newer samples a sample counts for a third. */
const memory = 100;
/**
 * So many samples of nothing are always assumed. Where all amounts are alike, samples alone do not say which part of the time
 * comes with the amount, and without them the line would not see that a long queue takes long.
 */
const ofNothing = 5;
/**
 * Samples of large amounts decide the slope of a line. So the assumed samples are no larger than the first measured one, but at least this
 * part of the assumed amount: a slope learned of a few tokens says nothing of thousands.
 */
const minOfAssumed = 1 / 16;
/**
 * After a sample below this part of the prediction, earlier samples count for this share of what they did: the endpoint has become
 * faster. Nothing else makes an answer come so much sooner.
 */
const faster = { below: 0.4, kept: 0.5 } as const;
/** A sample below this part of the prediction is a surprise. */
const surprising = 0.7;
/** A sample above so many times the prediction counts as that much: it waited for something else. */
const maxFactor = 3;
/** From this sample in a row on that is above it, earlier samples count for this share: what was measured has become slower. */
const slower = { inRow: 2, kept: 0.25 } as const;

export function createSpeed(assumed: AssumedSpeed) {
  const kept = 1 - 1 / memory;
  let count = assumed.samples;
  let sumX = 0;
  let sumXX = 0;
  let sumY = 0;
  let sumXY = 0;
  let isMeasured = false;
  assume(assumed.amount);
  let errors = assumed.spread ** 2 * count;
  let slowInRow = 0;
  let line = fitted();
  let spread = assumed.spread;

  /** Replaces the samples by the assumed ones. */
  function assume(amount: number): void {
    // Two samples with half and one and a half times the amount make a line.
    const square = amount ** 2 * 1.25;
    sumX = count * amount;
    sumXX = count * square;
    sumY = count * (assumed.minMs + amount * assumed.eachMs);
    sumXY = count * (assumed.minMs * amount + square * assumed.eachMs);
  }

  function fitted(): { readonly minMs: number; readonly eachMs: number } {
    const all = count + ofNothing;
    const allY = sumY + ofNothing * assumed.minMs;
    const slope = (sumXY - (sumX * allY) / all) / Math.max(1e-9, sumXX - (sumX * sumX) / all);
    const ratio = sumY / Math.max(1, sumX);
    // A line neither falls nor starts below nothing.
    const eachMs = Math.min(ratio, Math.max(slope, assumed.eachMs / 1000));
    return { eachMs, minMs: Math.max(1, (allY - eachMs * sumX) / all) };
  }

  function shareKept(ms: number, predicted: number): number {
    if (ms < predicted * faster.below) return faster.kept;
    return slowInRow >= slower.inRow ? slower.kept : kept;
  }

  const msFor = (amount: number): number => line.minMs + amount * line.eachMs;

  return {
    msFor,
    /** Milliseconds that one more of the amount adds. */
    eachMs: (): number => line.eachMs,
    /** The usual error of a prediction, as a part of it. */
    spread: (): number => spread,
    /** True: it took much less than was known. */
    measured: (amount: number, ms: number): boolean => {
      if (!isMeasured) assume(Math.min(assumed.amount, Math.max(assumed.amount * minOfAssumed, amount)));
      isMeasured = true;
      const predicted = msFor(amount);
      const bounded = Math.min(ms, predicted * maxFactor);
      slowInRow = bounded < ms ? slowInRow + 1 : 0;
      const share = shareKept(ms, predicted);
      count = count * share + 1;
      sumX = sumX * share + amount;
      sumXX = sumXX * share + amount * amount;
      sumY = sumY * share + bounded;
      sumXY = sumXY * share + amount * bounded;
      errors = errors * share + errorOf(ms, predicted);
      line = fitted();
      spread = Math.sqrt(errors / count);
      return ms < predicted * surprising;
    },
  };
}

/** How wrong a prediction was: the square of a part of it, at most 1. */
export const errorOf = (ms: number, predicted: number): number =>
  Math.min(1, Math.abs(Math.log(Math.max(0.01, ms) / predicted))) ** 2;

/** The one that takes least for this amount. Undefined: there is none. */
export function fastestOf<S extends Pick<Speed, 'msFor'>>(speeds: readonly S[], amount: number): S | undefined {
  const least = Math.min(...speeds.map(({ msFor }) => msFor(amount)));
  return speeds.find(({ msFor }) => msFor(amount) === least);
}
