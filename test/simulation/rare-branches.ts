import type { RareBranch } from '../../src/books/databases/machine.ts';
import { seededChance } from '../programmable-engine/chance.ts';
import { isFault, type WorldPlan } from './events.ts';
import type { Scheduler } from './scheduler.ts';

/** How often a branch is forced, and how long a service may then lack the database. */
const rareBranches: Readonly<
  Record<RareBranch | 'connection-lost', { readonly share: number; readonly healMs: number }>
> = {
  'commit-unheard': { share: 0.02, healMs: 4_000 },
  'journal-file-ends': { share: 0.3, healMs: 0 },
  'connection-lost': { share: 0.002, healMs: 4_000 },
};

/** Forces rare branches of the store, and loses connections, in worlds with faults. Returns whether a branch is forced now. */
export function createRareBranches(
  { seed, events }: WorldPlan,
  {
    scheduler,
    disturb,
  }: { readonly scheduler: Scheduler; readonly disturb: (fromMs: number, untilMs: number) => void },
): (branch: keyof typeof rareBranches) => boolean {
  const chance = seededChance(seed ^ 0x4a4e);
  const hasFaults = events.some(isFault);
  return (branch) => {
    const { share, healMs } = rareBranches[branch];
    if (!hasFaults || chance() >= share) return false;
    scheduler.log.write(`forced ${branch}`);
    if (healMs > 0) disturb(scheduler.now(), scheduler.now() + healMs);
    return true;
  };
}
