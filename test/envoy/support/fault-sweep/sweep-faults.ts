import type { BehaviourInput } from '../../../programmable-engine/behaviour.ts';
import type { FaultPosition } from '../../../programmable-engine/fault-position.ts';
import type { Chance } from '../../../support/chance.ts';
import type { SweepReference } from './sweep-reference.ts';

/** What breaks an answer at once. */
export const promptFaults = [
  ...(['cut', 'reset', 'truncate', 'end'] as const),
  ...(['error', 'error-then-done', 'error-then-cut', 'malformed-then-cut'] as const),
];
export type SweepFault = (typeof promptFaults)[number];

/** One way to break one answer at one place. */
export interface SweepCase {
  readonly reference: SweepReference;
  readonly fault: SweepFault;
  readonly at: FaultPosition;
}

/** What tells the first engine of a pair, and no other, to break. */
export function directiveOf({ fault, at }: SweepCase): BehaviourInput {
  return { on: ['broken'], fault, at };
}

export function describeCase({ reference, fault, at }: SweepCase): string {
  return `${reference.shape.name} ${fault} ${typeof at === 'string' ? at : JSON.stringify(at)}`;
}

export interface CasesAsk {
  readonly faults: readonly SweepFault[];
  /** Places inside of events, besides every boundary between them. The same chance gives the same ones. */
  readonly bytes: number;
  readonly chance: Chance;
  /** Only one place of so many, beginning at random. */
  readonly oneOf: number;
}

/** Each fault at every boundary between events and at random bytes. */
export function sweepCases(
  reference: SweepReference,
  { faults, bytes, chance, oneOf }: CasesAsk,
): readonly SweepCase[] {
  const { events } = reference;
  const length = events.at(-1)?.endByte ?? 0;
  const places: readonly FaultPosition[] = [
    ...(['before-headers', 'after-headers'] as const),
    ...events.map((_, at) => ({ events: at + 1 })),
    ...Array.from({ length: bytes }, () => ({ bytes: 1 + chance.below(length - 1) })),
  ];
  return faults.flatMap((fault) => {
    const first = chance.below(oneOf);
    const chosen = places.filter((_, at) => at % oneOf === first);
    return chosen.map((at) => ({ reference, fault, at }));
  });
}
