import { setTimeout as pause } from 'node:timers/promises';
import { metricIn } from '../../../support/metric-in.ts';
import type { AttackCommand } from '../hostile/attackers.ts';
import type { NeighbourCommand } from '../hostile/neighbours.ts';
import { type HostilePlan, type PhaseFigures, playPhases } from '../hostile/play-phases.ts';
import { startThread } from '../hostile/thread.ts';
import { figuresOf } from '../process-figures.ts';
import { startPortalProcess, type PortalProcess } from './portal-process.ts';
import type { PortalTarget } from './portal-target.ts';

/** The most of each that was seen in one phase, a look a second. */
export interface PortalFigures {
  readonly residentBytes: number;
  readonly loopDelayP99Ms: number;
  readonly loopDelayLongestMs: number;
  readonly connections: number;
  readonly eventReaders: number;
}

export const liveNeighbours = 3;

/** Runs members beside attackers of a portal of its own, phase by phase. */
export async function runHostilePortal(plan: HostilePlan): Promise<readonly PhaseFigures<PortalFigures>[]> {
  await using stack = new AsyncDisposableStack();
  const portal = await startPortalProcess(liveNeighbours);
  stack.defer(portal.close);
  const { target } = portal;
  const attackers = startThread<AttackCommand<PortalTarget>>(new URL('./portal-attacks-worker.ts', import.meta.url));
  stack.defer(attackers.stop);
  const neighbours = startThread<NeighbourCommand<PortalTarget>>(
    new URL('./portal-neighbours-worker.ts', import.meta.url),
  );
  stack.defer(neighbours.stop);
  return await playPhases(plan, {
    ...{ target, attackers, neighbours },
    watch: async (seconds) => {
      // What came before has left its delay of the loop in the metrics.
      await portal.metrics();
      return watch(portal, seconds);
    },
    kill: () => process.kill(portal.pid, 'SIGKILL'),
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
