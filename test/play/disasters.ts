import { setTimeout as pause } from 'node:timers/promises';
import type { FaultEvent } from '../simulation/events.ts';
import { metricIn } from '../support/metric-in.ts';
import type { TestValkey } from '../support/valkey.ts';
import type { Gateways } from './gateways.ts';
import type { PlayedEngine } from './played-engine.ts';
import type { PlayedIssuer } from './played-issuer.ts';
import type { PlayedSearch } from './played-search.ts';

/** The processes that a plan is played on. */
export interface Surroundings {
  readonly gateways: Gateways;
  readonly engines: readonly PlayedEngine[];
  readonly search: PlayedSearch;
  /** Absent: the plan has no identities. */
  readonly issuer?: PlayedIssuer;
  /** Has the database away. Resolves with what brings it back. */
  readonly takeDatabase: () => Promise<() => Promise<void>>;
  /** Absent: limits are in memory. */
  readonly valkey?: TestValkey;
}

/** Waits until this holds. What rejects does not hold. */
export async function untilTrue(what: string, holds: () => Promise<boolean>, withinMs = 90_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > end) throw new Error(`${withinMs / 1000} s passed, and not yet: ${what}`);
    await pause(50);
  }
}

/** Whether a metric has this value at each service. */
export async function allHave(
  { metrics }: Gateways,
  name: string,
  value: number,
  labels?: Readonly<Record<string, string>>,
): Promise<boolean> {
  return (await metrics()).every((text) => metricIn(text, name, labels) === value);
}

/** Resolves when all services serve, with the database and with shared limits. */
export async function untilHealed({ gateways, valkey }: Surroundings): Promise<void> {
  await untilTrue('the database is here', () => allHave(gateways, 'weir_ledger_database', 1, { state: 'here' }));
  if (valkey === undefined) return;
  await untilTrue('the limits are shared', () => allHave(gateways, 'weir_limits_shared', 1));
}

async function signal(
  gateways: Gateways,
  number: number,
  how: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT',
): Promise<number | undefined> {
  await untilTrue(`service ${number} is there`, async () => gateways.pid(number) !== undefined);
  const pid = gateways.pid(number);
  if (pid !== undefined) process.kill(pid, how);
  return pid;
}

async function kill(gateways: Gateways, number: number): Promise<void> {
  const pid = await signal(gateways, number, 'SIGKILL');
  await untilTrue(`service ${number} is back`, async () => ![undefined, pid].includes(gateways.pid(number)));
}

/** Lets a fault of the plan happen to real processes. Resolves when it is over. Throws on one that only the simulation has. */
export async function breakIt(event: FaultEvent, surroundings: Surroundings): Promise<void> {
  const { gateways, engines, search, takeDatabase, valkey } = surroundings;
  const services = gateways.origins.length;
  switch (event.kind) {
    case 'kill':
      await kill(gateways, event.service % services);
      break;
    case 'power-cut':
      await Promise.all(gateways.origins.map((_, number) => kill(gateways, number)));
      break;
    case 'pause': {
      const number = event.service % services;
      await signal(gateways, number, 'SIGSTOP');
      await pause(event.forMs);
      await signal(gateways, number, 'SIGCONT');
      break;
    }
    case 'locked': {
      const lives = gateways.origins.map((_, number) => gateways.pid(number));
      // A service that is killed meanwhile does not start without the database, and cannot say that it is away.
      const hasDied = (): boolean => lives.some((pid, number) => gateways.pid(number) !== pid);
      const giveBack = await takeDatabase();
      try {
        await untilTrue(
          'the database is away',
          async () => hasDied() || (await allHave(gateways, 'weir_ledger_database', 1, { state: 'away' })),
        );
        await pause(event.forMs);
      } finally {
        await giveBack();
      }
      break;
    }
    case 'engine': {
      const engine = engines.find(({ name }) => name === event.engine);
      await engine?.set(event.state);
      await pause(event.forMs);
      await engine?.set('up');
      return;
    }
    case 'search':
      search.set(event.trouble);
      await pause(event.forMs);
      search.set('none');
      return;
    case 'valkey':
      if (event.trouble === 'forgets') await valkey?.ask((client) => client.flushall());
      else if (event.trouble === 'slow') valkey?.freeze();
      else await valkey?.kill();
      await pause(event.forMs);
      if (event.trouble === 'slow') valkey?.thaw();
      if (event.trouble === 'away') await valkey?.start();
      break;
    case 'dies':
    case 'restart':
    case 'clock-jump':
    case 'disk':
    case 'dns':
    case 'partition':
      throw new Error(`only the simulation has ${event.kind}`);
  }
  await untilHealed(surroundings);
}
