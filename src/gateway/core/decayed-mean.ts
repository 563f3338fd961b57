/**
 * A mean in which old values count for less. Values lose weight with time, so that an old state is forgotten, and with each new
 * value, so that a new state shows soon.
 */
export type DecayedMean = ReturnType<typeof createDecayedMean>;

const nothingKnown = { value: 0, weight: 0 };

/** `maxWeight`: a value hardly counts once so many others are newer. */
export function createDecayedMean(options: { readonly halfLifeMs: number; readonly maxWeight: number }) {
  const { halfLifeMs, maxWeight } = options;
  let weight = 0;
  let sum = 0;
  let asOf = 0;

  function settle(now: number): void {
    if (now > asOf && weight > 0) {
      const kept = 2 ** ((asOf - now) / halfLifeMs);
      weight *= kept;
      sum *= kept;
    }
    asOf = now;
  }

  return {
    add: (now: number, value: number, { weight: added = 1 }: { readonly weight?: number } = {}): void => {
      settle(now);
      const room = maxWeight - added;
      if (weight > room) {
        sum *= room / weight;
        weight = room;
      }
      weight += added;
      sum += value * added;
    },
    /** How many values the mean rests on. A value counts for half after one half-life. */
    weight: (now: number): number => {
      settle(now);
      return weight;
    },
    /** `prior`: so many values of that size are assumed before any is known. NaN: neither values nor a prior. */
    mean: (now: number, prior: { readonly value: number; readonly weight: number } = nothingKnown): number => {
      settle(now);
      return (sum + prior.value * prior.weight) / (weight + prior.weight);
    },
    restart: (): void => {
      weight = 0;
      sum = 0;
    },
  };
}
