import type { PortalAttackName } from './portal-attacks.ts';
import type { PortalTarget } from './portal-target.ts';

export type PortalNeighbourCommand =
  | { readonly kind: 'start'; readonly target: PortalTarget; readonly perSecond: number; readonly phase: string }
  | { readonly kind: 'phase'; readonly phase: string }
  /** Answered with the figures of each phase. */
  | { readonly kind: 'stop' };

export type PortalAttackCommand =
  | { readonly kind: 'attack'; readonly target: PortalTarget; readonly name: PortalAttackName }
  /** Ends what is under way; answered with the tally. */
  | { readonly kind: 'halt' }
  | { readonly kind: 'stop' };

/** How the attempts of an attacker ended: a status, or `closed` where no answer came. `opened` counts connections. */
export type PortalTally = Readonly<Record<string, number>>;
