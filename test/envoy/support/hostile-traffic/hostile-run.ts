import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openAccounts } from '../../../../src/books/store/open-accounts.ts';
import { metricIn } from '../../../support/metric-in.ts';
import { figuresOf } from '../process-figures.ts';
import { quantile } from '../../../support/quantile.ts';
import { spawnProgrammableEngine } from '../spawn-programmable-engine.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../../../support/weir.ts';
import type { AttackName } from './attacks.ts';
import type { NeighbourFigures } from './neighbours.ts';
import type { Target } from './target.ts';
import { startThread } from './thread.ts';
import type { AttackCommand, AttackTally, NeighbourCommand } from './threads.ts';

/** A time of the run, and who attacks in it. */
export interface Phase {
  readonly name: string;
  readonly attacks: readonly AttackName[];
  readonly seconds: number;
  /** Done to the gateway when the phase begins. */
  readonly harm?: (weir: Weir) => void;
}

export interface HostilePlan {
  readonly phases: readonly Phase[];
  /** Requests of all neighbours together. */
  readonly neighboursPerSecond: number;
  /** Told what happens. */
  readonly report: (line: string) => void;
}

/** What the service and its Envoy were like in one phase. */
export interface ServiceFigures {
  readonly eventLoopDelayP99Ms: number;
  readonly eventLoopDelayLongestMs: number;
  /** Resident, at the end of the phase. */
  readonly serviceBytes: number;
  readonly envoyBytes: number;
}

export interface PhaseFigures {
  readonly phase: Phase;
  readonly neighbours: NeighbourFigures;
  readonly service: ServiceFigures;
  readonly attackers: AttackTally;
}

const workspaces = 3;
/** Traffic between two phases, which counts for neither: what the first has left is over then. */
const betweenSeconds = 3;
const between = 'between';

/** Runs honest traffic through a gateway of its own, phase by phase, and gives what became of it. */
export async function runHostileTraffic({
  phases,
  neighboursPerSecond,
  report,
}: HostilePlan): Promise<readonly PhaseFigures[]> {
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const attackers = startThread<AttackCommand>(new URL('./attacks-worker.ts', import.meta.url));
    closers.push(attackers.stop);
    const hostilePort = (await attackers.answer()) as number;
    const engines = await Promise.all([0, 1].map(() => spawnProgrammableEngine({ reasoning: 'never' })));
    closers.push(...engines.map((engine) => () => engine.close()));
    const weir = await startWeir({
      env: { WEIR_RESPONSES: 'stateless' },
      manifests: {
        'catalog.yaml': [
          ...engines.map((engine, index) => backendManifest(`good-${index}`, engine)),
          backendManifest('hostile', { port: hostilePort }),
          modelManifest('test/model', ['good-0', 'good-1']).replaceAll(/weight: \d+/g, 'weight: 100'),
          // Free: an engine that lies about its usage would soon use up what the other attackers spend.
          modelManifest('test/hostile', ['hostile']).replace(/pricing: .*/, 'pricing: {prompt: "0", completion: "0"}'),
        ].join(''),
      },
    });
    closers.push(weir.close);
    const target = await targetOf(weir);
    const neighbours = startThread<NeighbourCommand>(new URL('./neighbours-worker.ts', import.meta.url));
    closers.push(neighbours.stop);
    neighbours.tell({ kind: 'start', target, perSecond: neighboursPerSecond, phase: between });
    const found: Omit<PhaseFigures, 'neighbours'>[] = [];
    for (const phase of phases) {
      await pause(betweenSeconds * 1000);
      report(`${phase.name}: ${phase.seconds} s`);
      neighbours.tell({ kind: 'phase', phase: phase.name });
      attackers.tell({ kind: 'attack', target, names: phase.attacks });
      phase.harm?.(weir);
      const service = await watch(weir, phase.seconds);
      neighbours.tell({ kind: 'phase', phase: between });
      attackers.tell({ kind: 'halt' });
      found.push({ phase, service, attackers: (await attackers.answer()) as AttackTally });
    }
    neighbours.tell({ kind: 'stop' });
    const byPhase = (await neighbours.answer()) as Readonly<Record<string, NeighbourFigures>>;
    return found.map((figures) => {
      const seen = byPhase[figures.phase.name];
      if (seen === undefined) throw new Error(`nobody asked anything during "${figures.phase.name}"`);
      return { ...figures, neighbours: seen };
    });
  } finally {
    for (const close of closers.toReversed()) await close();
  }
}

/** Makes the accounts beside the running service, as an operator does. */
async function targetOf(weir: Weir): Promise<Target> {
  const accounts = await openAccounts(
    { kind: 'sqlite', file: join(weir.data, 'weir.db') },
    { missing: 'refuse', user: 'operator' },
  );
  try {
    const keyOf = async (name: string): Promise<string> => {
      const by = { actor: { kind: 'command-line', name: 'hostile' }, now: Date.now() } as const;
      await accounts.createWorkspace({ name, credit: 10n ** 18n, maxInFlight: 256 }, by);
      return (await accounts.createKey({ workspace: name, rate: 100, burst: 200 }, by)).text;
    };
    const neighbourKeys: string[] = [];
    for (let index = 0; index < workspaces; index += 1) neighbourKeys.push(await keyOf(`neighbour-${index}`));
    return {
      ...{ port: Number(new URL(weir.origin).port), neighbourKeys, attackerKey: await keyOf('attacker') },
      ...{ model: 'test/model', hostileModel: 'test/hostile' },
    };
  } finally {
    await accounts.close();
  }
}

async function watch(weir: Weir, seconds: number): Promise<ServiceFigures> {
  const delays: number[] = [];
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    await pause(Math.min(1000, Math.max(0, until - performance.now())));
    // A service that is not there has no delay, and its callers tell of it.
    const figures = await fetch(weir.opsUrl).then(
      (answer) => answer.text(),
      () => undefined,
    );
    if (figures !== undefined) delays.push(metricIn(figures, 'weir_event_loop_delay_seconds') * 1000);
  }
  return {
    eventLoopDelayP99Ms: quantile(delays, 0.99),
    eventLoopDelayLongestMs: Math.max(0, ...delays),
    serviceBytes: figuresOf(weir.pid('service')).residentBytes,
    envoyBytes: figuresOf(weir.pid('envoy')).residentBytes,
  };
}
