import type { Chance } from '../programmable-engine/chance.ts';
import type { Program } from './program.ts';

/** How long a statement takes, and a notification, at least and at most, virtual milliseconds. */
const [minMs, maxMs] = [0.2, 2];

/** The way between a program and the server. */
export interface Way {
  /** Whether the server is out of reach. */
  readonly isAway: () => boolean;
  readonly chance: Chance;
  /** How long the next message takes. */
  readonly ms: () => number;
  /** Resolves when a message has passed; never, if the program dies meanwhile. */
  readonly pass: () => Promise<void>;
}

export function createWay(program: Program, isAway: () => boolean, chance: Chance): Way {
  const ms = (): number => minMs + chance() * (maxMs - minMs);
  return { isAway, chance, ms, pass: () => new Promise((resolve) => void program.deliver(ms(), resolve)) };
}

export function connectionError(code: string): Error {
  return Object.assign(new Error(`simulated: ${code}`), { code });
}
