import type { Wire } from './wire.ts';

/** A sign of life: what is sent, and how often. */
export interface LifeSign {
  readonly everyMs: number;
  readonly sign: string;
}

/** Waits that long, or until the client leaves; sends signs of life once the headers are out. */
export async function pauseAlive(wire: Wire, ms: number, alive: LifeSign | undefined): Promise<void> {
  if (alive === undefined || !wire.headSent()) {
    await (ms === Infinity ? wire.untilClosed() : wire.pause(ms));
    return;
  }
  for (let left = ms; left > 0 && !wire.closed(); left -= alive.everyMs) {
    await wire.pause(Math.min(left, alive.everyMs));
    if (left > alive.everyMs) await wire.send(alive.sign);
  }
}
