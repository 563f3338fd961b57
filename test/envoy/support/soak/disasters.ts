import { type AttackName, attackNames } from '../hostile-traffic/attacks.ts';
import type { Happening } from '../../../play/real-plan.ts';

/** Attackers of one cycle, by turns. */
const attacksAtOnce = 2;

export const attacksOf = (cycle: number): readonly AttackName[] =>
  Array.from(
    { length: attacksAtOnce },
    (_, index) => attackNames[(cycle * attacksAtOnce + index) % attackNames.length] ?? 'wrong keys',
  );

/** Service 1 lives as long as the soak does; of the others one is often young. */
const victimsOf = (cycle: number): readonly number[] => [
  ...(cycle % 2 === 0 ? [2] : []),
  ...(cycle % 4 === 1 ? [3] : []),
];

/** As a crash ends PostgreSQL, as an operator does, and as a network does that loses everything. */
export const outageOf = (cycle: number) => (['kill', 'stop', 'freeze'] as const)[cycle % 3] ?? 'kill';

const isValkeyKilled = (cycle: number): boolean => cycle % 4 === 3;

/** Processes that begin anew with nothing in a cycle, by their names in readings. */
export const replacedIn = (cycle: number): readonly string[] => [
  ...victimsOf(cycle).map((number) => `service ${number}`),
  ...(isValkeyKilled(cycle) ? ['Valkey'] : []),
];

/** Everything that goes wrong in one cycle, one after the other. */
export const disastersOf = (cycle: number): readonly Happening[] => [
  ...victimsOf(cycle).map((number): Happening => [0.1, { kind: 'kill', service: number - 1, downMs: 0 }]),
  [0.28, { kind: 'locked', forMs: 2_000 }],
  [0.62, { kind: 'valkey', trouble: isValkeyKilled(cycle) ? 'away' : 'slow', forMs: 1_500 }],
  [0.78, { kind: 'engine', engine: (['a1', 'a2', 'b1'] as const)[cycle % 3] ?? 'a1', state: 'refuses', forMs: 2_000 }],
  [0.9, { kind: 'search', trouble: 'fails', forMs: 1_000 }],
];
