import { setTimeout as pause } from 'node:timers/promises';
import type { AttackCommand, AttackTally } from './attackers.ts';
import type { NeighbourCommand, NeighbourFigures } from './neighbours.ts';
import type { Thread } from './thread.ts';

/** A time of the run, and who attacks in it. */
export interface Phase {
  readonly name: string;
  readonly attacks: readonly string[];
  readonly seconds: number;
  /** Kills what is attacked when the phase begins. */
  readonly harm?: 'kill';
}

export interface PhaseFigures<Watched> {
  readonly phase: Phase;
  readonly neighbours: NeighbourFigures;
  readonly attackers: AttackTally;
  /** What that is attacked was like. */
  readonly watched: Watched;
}

/** What a run is told. */
export interface HostilePlan {
  readonly phases: readonly Phase[];
  /** Requests of all neighbours together. */
  readonly neighboursPerSecond: number;
  /** Told what happens. */
  readonly report: (line: string) => void;
}

/** What is attacked. */
export interface Attacked<Target, Watched> {
  readonly target: Target;
  readonly attackers: Thread<AttackCommand<Target>>;
  readonly neighbours: Thread<NeighbourCommand<Target>>;
  /** Watches it for so many seconds. */
  readonly watch: (seconds: number) => Promise<Watched>;
  readonly kill: () => void;
}

/** Traffic between two phases, which counts for neither: what the first has left is over then. */
const betweenSeconds = 3;
const between = 'between';

/** Lets neighbours ask, and attackers attack phase by phase. Gives what became of both. */
export async function playPhases<Target, Watched>(
  { phases, neighboursPerSecond: perSecond, report }: HostilePlan,
  { target, attackers, neighbours, watch, kill }: Attacked<Target, Watched>,
): Promise<readonly PhaseFigures<Watched>[]> {
  neighbours.tell({ kind: 'start', target, perSecond, phase: between });
  const found: Omit<PhaseFigures<Watched>, 'neighbours'>[] = [];
  for (const phase of phases) {
    await pause(betweenSeconds * 1000);
    report(`${phase.name}: ${phase.seconds} s`);
    neighbours.tell({ kind: 'phase', phase: phase.name });
    attackers.tell({ kind: 'attack', target, names: phase.attacks });
    if (phase.harm === 'kill') kill();
    const watched = await watch(phase.seconds);
    neighbours.tell({ kind: 'phase', phase: between });
    attackers.tell({ kind: 'halt' });
    found.push({ phase, watched, attackers: (await attackers.answer()) as AttackTally });
  }
  neighbours.tell({ kind: 'stop' });
  const byPhase = (await neighbours.answer()) as Readonly<Record<string, NeighbourFigures>>;
  return found.map((figures) => {
    const seen = byPhase[figures.phase.name];
    if (seen === undefined) throw new Error(`nobody asked anything during "${figures.phase.name}"`);
    return { ...figures, neighbours: seen };
  });
}

/** Failed requests of a phase. */
export const failuresIn = ({ neighbours }: PhaseFigures<unknown>): number =>
  Object.values(neighbours.failures).reduce((sum, count) => sum + count, 0);

/** A line for each kind of failure. */
export const failuresOf = (phases: readonly PhaseFigures<unknown>[]): readonly string[] =>
  phases.flatMap(({ phase, neighbours }) =>
    Object.entries(neighbours.failures).map(([why, count]) => `failed in "${phase.name}": ${count} × ${why}`),
  );
