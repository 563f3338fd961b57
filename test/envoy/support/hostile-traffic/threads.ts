import type { AttackName } from './attacks.ts';
import type { Target } from './target.ts';

export type NeighbourCommand =
  | { readonly kind: 'start'; readonly target: Target; readonly perSecond: number; readonly phase: string }
  | { readonly kind: 'phase'; readonly phase: string }
  | { readonly kind: 'stop' };

export type AttackCommand =
  | { readonly kind: 'attack'; readonly target: Target; readonly names: readonly AttackName[] }
  /** Ends what is under way; answered with `AttackTally`. */
  | { readonly kind: 'halt' }
  | { readonly kind: 'stop' };

/** How the attempts of each attacker ended: a status, or what became of the connection. */
export type AttackTally = Readonly<Record<string, Readonly<Record<string, number>>>>;
