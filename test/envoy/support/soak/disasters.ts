import { type AttackName, attackNames } from '../hostile-traffic/attacks.ts';
import type { StormProgress } from '../money-storm/storm-run.ts';
import { services, type SoakWorld, until } from './soak-world.ts';

/** What broke in one cycle, and what that means to those who look at it afterwards. */
export interface Broken {
  /** Monotonic milliseconds at which a service was killed; which one served a request only Envoy knows. */
  readonly kills: readonly { readonly replica: 0; readonly atMs: number }[];
  /** Processes that began anew with nothing, by their names in readings. */
  readonly replaced: readonly string[];
}

/** Attackers of one cycle, by turns. */
const attacksAtOnce = 2;

function attacksOf(cycle: number): readonly AttackName[] {
  return Array.from(
    { length: attacksAtOnce },
    (_, index) => attackNames[(cycle * attacksAtOnce + index) % attackNames.length] ?? 'wrong keys',
  );
}

/** Service 1 lives as long as the soak does; of the others one is often young. */
function victimsOf(cycle: number): readonly number[] {
  return [...(cycle % 2 === 0 ? [2] : []), ...(cycle % 4 === 1 ? [3] : [])];
}

/** The requests that come and go while something is away. */
const meanwhile = 60;

/**
 * Everything that goes wrong in one cycle, one after the other, while a storm of so many requests goes on: services and an endpoint
 * are killed, PostgreSQL and Valkey go away and come back, the catalog changes, and attackers of two kinds are there all the time.
 */
export async function disasters(
  world: SoakWorld,
  progress: StormProgress,
  { cycle, requests }: { readonly cycle: number; readonly requests: number },
): Promise<Broken> {
  const { gateway, postgres, valkey, accounts, attackers } = world;
  const kills: { readonly replica: 0; readonly atMs: number }[] = [];
  const replaced: string[] = [];
  const part = (number: number): number => Math.floor((requests * number) / 8);
  attackers.start(attacksOf(cycle));

  const killService = async (number: number): Promise<void> => {
    const name = `service ${number}`;
    const pid = gateway.processes()[name];
    if (pid === undefined) throw new Error(`${name} is not there to be killed`);
    kills.push({ replica: 0, atMs: performance.now() });
    replaced.push(name);
    process.kill(pid, 'SIGKILL');
    await until(`${name} is back`, async () => ![undefined, pid].includes(gateway.processes()[name]));
    await until('all services serve', async () => (await world.metrics()).length === services);
  };
  await progress.until(part(1));
  for (const number of victimsOf(cycle)) await killService(number);

  await progress.until(part(2));
  // As a crash ends it, as an operator does, and as a network does that loses everything.
  const outage = (['kill', 'stop', 'freeze'] as const)[cycle % 3] ?? 'kill';
  await postgres[outage]();
  await progress.until(part(2) + meanwhile);
  await (outage === 'freeze' ? postgres.thaw() : postgres.start());
  await until('the database is here', () => world.allHave('weir_ledger_database', 1, { state: 'here' }));
  await accounts.correct();

  await progress.until(part(4));
  const isValkeyKilled = cycle % 4 === 3;
  if (isValkeyKilled) replaced.push('Valkey');
  if (isValkeyKilled) await valkey.kill();
  else valkey.freeze();
  await progress.until(part(4) + meanwhile);
  if (isValkeyKilled) await valkey.start();
  else valkey.thaw();
  await until('the limits are shared again', () => world.allHave('weir_limits_shared', 1));

  await progress.until(part(5));
  const engine = world.killedEngines[cycle % world.killedEngines.length];
  await engine?.kill();
  await progress.until(part(5) + meanwhile);
  await engine?.start();

  await progress.until(part(6));
  world.changeCatalog(cycle % 2 === 0);
  await progress.until(part(7));
  await attackers.stop();
  return { kills, replaced };
}
