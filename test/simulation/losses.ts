import { seededChance } from '../programmable-engine/chance.ts';
import { isFault, type WorldPlan } from './events.ts';
import type { Scheduler } from './scheduler.ts';

/**
 * How often a database loses something, of each time that it could. `commit`: the answer to a commit that it has made.
 * `connection`: a connection over the network, at a statement. `serialization`: a transaction, which is rolled back because of another one.
 */
const shares = { commit: 0.02, connection: 0.002, serialization: 0.004 } as const;
/** How long a service may then lack the database. */
const healMs = 4_000;

export type Loses = (what: keyof typeof shares) => boolean;

/** Loses commits and connections in worlds with faults. Returns whether it happens now. */
export function createLosses(
  { seed, events }: WorldPlan,
  {
    scheduler,
    disturb,
  }: { readonly scheduler: Scheduler; readonly disturb: (fromMs: number, untilMs: number) => void },
): Loses {
  const chance = seededChance(seed ^ 0x4a4e);
  const hasFaults = events.some(isFault);
  return (what) => {
    if (!hasFaults || chance() >= shares[what]) return false;
    scheduler.log.write(`lost: a ${what}`);
    disturb(scheduler.now(), scheduler.now() + healMs);
    return true;
  };
}
