import { setTimeout as pause } from 'node:timers/promises';
import { metricIn } from '../../../support/metric-in.ts';
import { startThread } from '../hostile-traffic/thread.ts';
import { figuresOf } from '../process-figures.ts';
import type { PortalAttackName } from './portal-attacks.ts';
import type { PortalNeighbourFigures } from './portal-neighbours.ts';
import { startPortalProcess, type PortalProcess } from './portal-process.ts';
import type { PortalAttackCommand, PortalNeighbourCommand, PortalTally } from './portal-threads.ts';

/** A time of the run, and what is done to the portal in it. */
export interface PortalPhase {
  readonly name: string;
  readonly seconds: number;
  readonly attack?: PortalAttackName;
  /** Ends the portal at the beginning of the phase. */
  readonly harm?: 'kill';
}

export interface PortalPhaseFigures {
  readonly phase: PortalPhase;
  readonly neighbours: PortalNeighbourFigures;
  readonly attacker: PortalTally;
  readonly portal: PortalFigures;
}

/** The most of each that was seen in one phase, a look a second. */
interface PortalFigures {
  readonly residentBytes: number;
  readonly loopDelayP99Ms: number;
  readonly loopDelayLongestMs: number;
  readonly connections: number;
  readonly eventReaders: number;
}

export const liveNeighbours = 3;
/** Traffic between two phases, which counts for neither. */
const betweenSeconds = 3;
const between = 'between';

/** Runs members beside attackers of a portal of its own, phase by phase. */
export async function runHostilePortal({
  phases,
  neighboursPerSecond,
  report,
}: {
  readonly phases: readonly PortalPhase[];
  /** Requests of all neighbours together. */
  readonly neighboursPerSecond: number;
  readonly report: (line: string) => void;
}): Promise<readonly PortalPhaseFigures[]> {
  await using stack = new AsyncDisposableStack();
  const portal = await startPortalProcess(liveNeighbours);
  stack.defer(portal.close);
  const { target } = portal;
  const attackers = startThread<PortalAttackCommand>(new URL('./portal-attacks-worker.ts', import.meta.url));
  stack.defer(attackers.stop);
  const neighbours = startThread<PortalNeighbourCommand>(new URL('./portal-neighbours-worker.ts', import.meta.url));
  stack.defer(neighbours.stop);
  neighbours.tell({ kind: 'start', target, perSecond: neighboursPerSecond, phase: between });
  const found: Omit<PortalPhaseFigures, 'neighbours'>[] = [];
  for (const phase of phases) {
    await pause(betweenSeconds * 1000);
    report(`${phase.name}: ${phase.seconds} s`);
    // What the phases before have left of the loop's delay counts for them.
    await portal.metrics();
    neighbours.tell({ kind: 'phase', phase: phase.name });
    if (phase.attack !== undefined) attackers.tell({ kind: 'attack', target, name: phase.attack });
    if (phase.harm === 'kill') process.kill(portal.pid, 'SIGKILL');
    const figures = await watch(portal, phase.seconds);
    neighbours.tell({ kind: 'phase', phase: between });
    attackers.tell({ kind: 'halt' });
    found.push({ phase, portal: figures, attacker: (await attackers.answer()) as PortalTally });
  }
  neighbours.tell({ kind: 'stop' });
  const byPhase = (await neighbours.answer()) as Readonly<Record<string, PortalNeighbourFigures>>;
  return found.map((figures) => {
    const seen = byPhase[figures.phase.name];
    if (seen === undefined) throw new Error(`no neighbour asked anything during "${figures.phase.name}"`);
    return { ...figures, neighbours: seen };
  });
}

async function watch(portal: PortalProcess, seconds: number): Promise<PortalFigures> {
  const most = { residentBytes: 0, loopDelayP99Ms: 0, loopDelayLongestMs: 0, connections: 0, eventReaders: 0 };
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    await pause(Math.min(1000, Math.max(0, until - performance.now())));
    const text = await portal.metrics();
    if (text === undefined) continue;
    const raise = (name: keyof typeof most, value: number): void => {
      most[name] = Math.max(most[name], value);
    };
    raise('residentBytes', figuresOf(portal.pid).residentBytes);
    raise('loopDelayP99Ms', metricIn(text, 'nodejs_eventloop_lag_p99_seconds') * 1000);
    raise('loopDelayLongestMs', metricIn(text, 'nodejs_eventloop_lag_max_seconds') * 1000);
    raise('connections', metricIn(text, 'weir_portal_connections'));
    raise('eventReaders', metricIn(text, 'weir_portal_event_readers'));
  }
  return most;
}

/** Requests and events of neighbours that failed in a phase. */
export const portalFailuresIn = ({ neighbours }: PortalPhaseFigures): number =>
  Object.values(neighbours.failures).reduce((sum, count) => sum + count, 0);
