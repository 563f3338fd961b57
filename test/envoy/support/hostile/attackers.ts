import { parentPort } from 'node:worker_threads';
import { addressOf } from '../hostile-traffic/target.ts';

/** One attacker at work. */
export interface Attack {
  readonly stop: () => void;
}

export interface AttackSurroundings<Target> {
  readonly target: Target;
  /** The loopback address that the attacker comes from. */
  readonly address: string;
  /** Counts how an attempt ended. */
  readonly count: (outcome: string) => void;
}

export type Attacks<Target> = Readonly<Record<string, (around: AttackSurroundings<Target>) => Attack>>;

export type AttackCommand<Target> =
  | { readonly kind: 'attack'; readonly target: Target; readonly names: readonly string[] }
  /** Ends what is under way; answered with `AttackTally`. */
  | { readonly kind: 'halt' }
  | { readonly kind: 'stop' };

/** How the attempts of each attacker ended: a status, or what became of the connection. */
export type AttackTally = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Runs attackers in this thread, as it is told. */
export function serveAttacks<Target>(attacks: Attacks<Target>, stopped: () => Promise<void> = async () => {}): void {
  const names = Object.keys(attacks);
  let running: readonly (Attack | undefined)[] = [];
  let tally = new Map<string, Map<string, number>>();
  parentPort?.on('message', (command: AttackCommand<Target>) => {
    switch (command.kind) {
      case 'attack':
        tally = new Map();
        running = command.names.map((name) => {
          const outcomes = new Map<string, number>();
          tally.set(name, outcomes);
          return attacks[name]?.({
            target: command.target,
            address: addressOf('attacker', names.indexOf(name)),
            count: (outcome) => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1),
          });
        });
        break;
      case 'halt':
        for (const attack of running) attack?.stop();
        running = [];
        parentPort?.postMessage(
          Object.fromEntries([...tally].map(([name, counts]) => [name, Object.fromEntries(counts)])),
        );
        break;
      case 'stop':
        void stopped().then(() => parentPort?.close());
        break;
    }
  });
}
