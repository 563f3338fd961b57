/** One figure of one process, read at rest. */
export interface Reading {
  /** Minutes since the soak began. */
  readonly at: number;
  readonly value: number;
  /**
   * Only readings of one stratum are compared: a process that was killed and replaced is compared with others of its age.
   * Of a process that was never replaced all readings are of one.
   */
  readonly stratum: number;
}

/** How a figure changed over the readings; all of it relative to its median: 0.05 is five percent more. */
export interface Growth {
  /** Medians of the first and the last fifth. */
  readonly first: number;
  readonly last: number;
  readonly change: number;
  /** From the first reading to the last one along Sen's slope, with its confidence of 99 %. */
  readonly trend: { readonly low: number; readonly middle: number; readonly high: number };
  /** Kendall's test: how many standard deviations more pairs of readings rise than chance would have. */
  readonly rise: number;
}

/** What is demanded of a figure. */
export interface Bound {
  /** The largest change that is none. */
  readonly share: number;
  /** A change of less than this, in the figure's own unit, is none, whatever share it is. */
  readonly resolution: number;
}

/** `unclear`: the fifths differ by more than the bound, and what explains it is noise, other programs, or too short a time. */
export type Verdict = 'steady' | 'grew' | 'unclear';

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
};

/** Two-sided, 99 %: a soak asks some thirty figures, and each may be wrong. */
const normalQuantile = 2.576;

/** Takes the growth from readings in the order of their time. Undefined where they are too few to say anything. */
export function growthOf(readings: readonly Reading[]): Growth | undefined {
  const strata = Map.groupBy(readings, ({ stratum }) => stratum);
  const slopes: number[] = [];
  let variance = 0;
  for (const all of strata.values()) {
    variance += (all.length * (all.length - 1) * (2 * all.length + 5)) / 18;
    for (const [index, from] of all.entries()) {
      for (const to of all.slice(index + 1)) slopes.push((to.value - from.value) / (to.at - from.at));
    }
  }
  const [earliest, latest] = [readings.at(0), readings.at(-1)];
  if (earliest === undefined || latest === undefined || slopes.length < 10) return undefined;

  const middle = median(readings.map(({ value }) => value));
  // A reading stands for what it would be at the age that is usual: strata differ, and each fifth has others.
  const levels = new Map([...strata].map(([stratum, all]) => [stratum, median(all.map(({ value }) => value))]));
  const level = ({ value, stratum }: Reading): number => value - (levels.get(stratum) ?? 0) + middle;
  const fifth = Math.max(1, Math.floor(readings.length / 5));
  const [first, last] = [median(readings.slice(0, fifth).map(level)), median(readings.slice(-fifth).map(level))];

  // The seasonal Kendall slope and its confidence (Hirsch, Slack and Smith, 1982; Gilbert, 1987, 16.5 and 17.3): it takes no
  // distribution for granted, and a third of the readings may be far off.
  const sorted = slopes.toSorted((a, b) => a - b);
  const half = normalQuantile * Math.sqrt(variance);
  const at = (rank: number): number => sorted[Math.min(sorted.length, Math.max(1, rank)) - 1] ?? Number.NaN;
  const over = (slope: number): number => ratio(slope * (latest.at - earliest.at), middle);
  return {
    ...{ first, last, change: ratio(last - first, first) },
    trend: {
      low: over(at(Math.floor((sorted.length - half) / 2))),
      middle: over(median(sorted)),
      high: over(at(Math.ceil((sorted.length + half) / 2) + 1)),
    },
    rise: slopes.reduce((sum, slope) => sum + Math.sign(slope), 0) / Math.sqrt(variance),
  };
}

const ratio = (difference: number, whole: number): number => (difference === 0 ? 0 : difference / whole);

/** Holds a growth against its bound. It grew when the fifths say so and chance does not explain the readings. */
export function verdictOf({ first, last, change, rise }: Growth, { share, resolution }: Bound): Verdict {
  if (change <= share || last - first <= resolution) return 'steady';
  return rise > normalQuantile ? 'grew' : 'unclear';
}
