import { parentPort } from 'node:worker_threads';
import { quantile } from '../../../support/quantile.ts';

/** What the neighbours saw in one phase. */
export interface NeighbourFigures {
  readonly requests: number;
  /** How many failed, by what went wrong. */
  readonly failures: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Of events that were waited for; NaN where there was none. */
  readonly eventP99Ms: number;
}

/** What neighbours see, phase by phase. */
export interface NeighbourTallies {
  /** Counts what is asked now for the phase of now, also if its end comes later. Resolves to its time; rejects with what went wrong. */
  readonly count: (kind: 'waits' | 'events', run: () => Promise<number>) => void;
  /** Counts a failure of something that nobody asked for just now. */
  readonly fail: (error: unknown) => void;
}

/** Asks no more. Called when nothing that was counted is open any more, it lets go of what is left. */
export type StopNeighbours = () => () => void;

export type StartNeighbours<Target> = (target: Target, perSecond: number, tallies: NeighbourTallies) => StopNeighbours;

export type NeighbourCommand<Target> =
  | { readonly kind: 'start'; readonly target: Target; readonly perSecond: number; readonly phase: string }
  | { readonly kind: 'phase'; readonly phase: string }
  /** Answered with the figures of each phase. */
  | { readonly kind: 'stop' };

interface Tally {
  readonly waits: number[];
  readonly events: number[];
  requests: number;
  readonly failures: Map<string, number>;
}

/** Runs neighbours in this thread, as it is told: what the attackers' own work takes of a processor must not look like the gateway's. */
export function serveNeighbours<Target>(start: StartNeighbours<Target>): void {
  const phases = new Map<string, Tally>();
  const open = new Set<Promise<void>>();
  let current = '';
  let isOver = false;
  let stop: StopNeighbours = () => () => undefined;

  const tallyNow = (): Tally => {
    const known = phases.get(current) ?? { waits: [], events: [], requests: 0, failures: new Map() };
    phases.set(current, known);
    return known;
  };
  const failIn = ({ failures }: Tally, error: unknown): void => {
    const why = error instanceof Error ? error.message : String(error);
    failures.set(why, (failures.get(why) ?? 0) + 1);
  };
  const tallies: NeighbourTallies = {
    count: (kind, run) => {
      const of = tallyNow();
      of.requests += 1;
      const running = run()
        .then(
          (ms) => void of[kind].push(ms),
          (error: unknown) => failIn(of, error),
        )
        .finally(() => open.delete(running));
      open.add(running);
    },
    fail: (error) => {
      if (!isOver) failIn(tallyNow(), error);
    },
  };

  async function end(): Promise<void> {
    const letGo = stop();
    await Promise.all(open);
    isOver = true;
    letGo();
    parentPort?.postMessage(Object.fromEntries([...phases].map(([name, tally]) => [name, figuresOf(tally)])));
    parentPort?.close();
  }

  parentPort?.on('message', (command: NeighbourCommand<Target>) => {
    switch (command.kind) {
      case 'start':
        current = command.phase;
        stop = start(command.target, command.perSecond, tallies);
        break;
      case 'phase':
        current = command.phase;
        break;
      case 'stop':
        void end();
        break;
    }
  });
}

function figuresOf({ waits, events, requests, failures }: Tally): NeighbourFigures {
  return {
    ...{ requests, failures: Object.fromEntries(failures) },
    ...{ p50Ms: quantile(waits, 0.5), p99Ms: quantile(waits, 0.99), maxMs: Math.max(0, ...waits) },
    eventP99Ms: quantile(events, 0.99),
  };
}
