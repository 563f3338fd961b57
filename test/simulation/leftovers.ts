import { reservedFor } from '../../src/books/accounts/reservations.ts';
import type { OpenDatabase } from '../../src/books/databases/database.ts';
import type { World } from './world-view.ts';

/** What is left in memory, at engines and in Valkey when nothing has run for a while. */
export function leftoversOf(world: World): readonly string[] {
  const faults: string[] = [];
  let ofServices = 0;
  for (const service of world.services) {
    if (service === undefined) {
      faults.push('a service does not run');
      continue;
    }
    if (!service.isReady()) faults.push(`service ${service.number} is not ready`);
    for (const [what, count] of Object.entries(service.leftovers()))
      if (count !== 0) faults.push(`service ${service.number} has ${count} ${what} left`);
    ofServices += service.program.waiting();
  }
  for (const engine of world.engines.values())
    if (engine.open() > 0) faults.push(`${engine.open()} calls are open at ${engine.name}`);
  for (const [hash, { places, reserved }] of world.valkey?.underWay() ?? [])
    if (places > 0 || reserved > 0) faults.push(`Valkey counts ${places} requests and ${reserved} for ${hash}`);
  const replicas = world.valkey?.replicas() ?? world.services.length;
  if (replicas !== world.services.length) faults.push(`Valkey counts ${replicas} replicas`);
  // The lease of each service may be on its way to Valkey. A server of a database has events of its own.
  const resting = world.valkey === undefined ? 0 : world.services.length;
  const others = world.scheduler.waiting() - ofServices;
  if (world.isOnDisk && others > resting) faults.push(`${others} events of no service wait`);
  return faults;
}

/** What is still reserved in the database. */
export async function reservationsLeft(world: World, { queries }: OpenDatabase): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const [number, id] of world.workspaceIds.entries()) {
    const reserved = await reservedFor(queries, id, world.plan.startsAt + Math.floor(world.scheduler.now()));
    if (reserved !== 0n) faults.push(`${reserved} is reserved for workspace ${number}`);
  }
  return faults;
}
