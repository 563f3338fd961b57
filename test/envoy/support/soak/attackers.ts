import type { AttackName } from '../hostile-traffic/attacks.ts';
import type { Target } from '../hostile-traffic/target.ts';
import type { AttackCommand, AttackTally } from '../hostile/attackers.ts';
import { startThread } from '../hostile/thread.ts';

/** Attackers of hostile traffic on a thread of their own, with the engine that is one of them. */
export interface Attackers {
  readonly enginePort: number;
  /** Tells them once whom to attack. */
  readonly aim: (target: Target) => void;
  readonly start: (names: readonly AttackName[]) => void;
  /** Ends what they have under way, and gives how their attempts ended. */
  readonly stop: () => Promise<AttackTally>;
  readonly close: () => Promise<void>;
}

export async function startAttackers(): Promise<Attackers> {
  const thread = startThread<AttackCommand<Target>>(new URL('../hostile-traffic/attacks-worker.ts', import.meta.url));
  const enginePort = (await thread.answer()) as number;
  let aimed: Target | undefined;
  const stop = (): Promise<AttackTally> => {
    thread.tell({ kind: 'halt' });
    return thread.answer() as Promise<AttackTally>;
  };
  return {
    enginePort,
    aim: (target) => {
      aimed = target;
    },
    start: (names) => {
      if (aimed === undefined) throw new Error('the attackers were not told whom to attack');
      thread.tell({ kind: 'attack', target: aimed, names });
    },
    stop,
    close: async () => {
      // A soak that fails leaves them at work, and a thread with open connections does not end.
      await stop();
      await thread.stop();
    },
  };
}
