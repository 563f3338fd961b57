import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openAccounts } from '../../../../src/books/store/open-accounts.ts';
import { metricIn } from '../../../support/metric-in.ts';
import { figuresOf } from '../process-figures.ts';
import { quantile } from '../../../support/quantile.ts';
import { spawnProgrammableEngine } from '../spawn-programmable-engine.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../../../support/weir.ts';
import type { AttackCommand } from '../hostile/attackers.ts';
import type { NeighbourCommand } from '../hostile/neighbours.ts';
import { type HostilePlan, type PhaseFigures, playPhases } from '../hostile/play-phases.ts';
import { startThread } from '../hostile/thread.ts';
import type { Target } from './target.ts';

/** What the service and its Envoy were like in one phase. */
export interface ServiceFigures {
  readonly eventLoopDelayP99Ms: number;
  readonly eventLoopDelayLongestMs: number;
  /** Resident, at the end of the phase. */
  readonly serviceBytes: number;
  readonly envoyBytes: number;
}

const workspaces = 3;
/** Runs honest traffic through a gateway of its own, phase by phase, and gives what became of it. */
export async function runHostileTraffic(plan: HostilePlan): Promise<readonly PhaseFigures<ServiceFigures>[]> {
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const attackers = startThread<AttackCommand<Target>>(new URL('./attacks-worker.ts', import.meta.url));
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
    const neighbours = startThread<NeighbourCommand<Target>>(new URL('./neighbours-worker.ts', import.meta.url));
    closers.push(neighbours.stop);
    return await playPhases(plan, {
      ...{ target, attackers, neighbours },
      watch: (seconds) => watch(weir, seconds),
      kill: () => process.kill(weir.pid('service'), 'SIGKILL'),
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
