import type { Chance } from '../../../support/chance.ts';
import { boundariesOf, bytesOf, type SweepCase, type SweepFault } from './sweep-faults.ts';
import type { SweepReference } from './sweep-reference.ts';

export interface CasesAsk {
  readonly faults: readonly SweepFault[];
  /** Places inside of events, besides every boundary between them. */
  readonly bytes: number;
  readonly chance: Chance;
  readonly stream?: boolean;
  /** Only one place of so many, beginning at random. */
  readonly oneOf?: number;
}

/** Each fault at every boundary between events and at random bytes. */
export function sweepCases(reference: SweepReference, ask: CasesAsk): readonly SweepCase[] {
  const { faults, bytes: count, chance, stream = true, oneOf = 1 } = ask;
  const places = [...boundariesOf(reference, stream), ...bytesOf(reference, { count, chance, stream })];
  return faults.flatMap((fault) => {
    const first = chance.below(oneOf);
    const chosen = places.filter((_, at) => at % oneOf === first);
    return chosen.map((at) => ({ reference, fault, at, stream }));
  });
}
