import type { BehaviourInput } from '../../../programmable-engine/behaviour.ts';
import type { FaultPosition } from '../../../programmable-engine/fault-position.ts';
import type { Chance } from '../../../support/chance.ts';
import type { SweepReference } from './sweep-reference.ts';

/** What breaks an answer at once. A stall is the one that takes time to be noticed. */
export const promptFaults = [
  ...(['cut', 'reset', 'truncate', 'end'] as const),
  ...(['error', 'error-then-done', 'error-then-cut', 'malformed-then-cut'] as const),
];
export type SweepFault = (typeof promptFaults)[number] | 'stall';

/** One way to break one answer at one place. */
export interface SweepCase {
  readonly reference: SweepReference;
  readonly fault: SweepFault;
  readonly at: FaultPosition;
  readonly stream: boolean;
}

/** What tells the first engine of a pair, and no other, to break. */
export function directiveOf({ fault, at }: SweepCase): BehaviourInput {
  return { on: ['broken'], fault, at };
}

export function describeCase({ reference, fault, at, stream }: SweepCase): string {
  const place = typeof at === 'string' ? at : JSON.stringify(at);
  return `${reference.shape.name} ${stream ? '' : 'in one piece '}${fault} ${place}`;
}

/** Every boundary between events; an answer in one piece has but a middle. */
export function boundariesOf({ events }: SweepReference, stream: boolean): readonly FaultPosition[] {
  const between = stream ? events.map((_, at) => ({ events: at + 1 })) : [{ events: 1 }];
  return ['before-headers', 'after-headers', ...between];
}

/** So many places before the last byte; the same chance gives the same ones. */
export function bytesOf(
  { events, wholeBytes }: SweepReference,
  { count, chance, stream }: { readonly count: number; readonly chance: Chance; readonly stream: boolean },
): readonly FaultPosition[] {
  const length = stream ? (events.at(-1)?.endByte ?? 0) : wholeBytes;
  return Array.from({ length: count }, () => ({ bytes: 1 + chance.below(length - 1) }));
}
